// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

/// The proxy's first implementation. Storage (in the proxy): 0 count, 1 byCaller.
contract CounterV1 {
    uint256 public count;
    mapping(address => uint256) public byCaller;

    event Counted(address indexed caller, uint256 count);

    function increment() public virtual {
        count += 1;
        byCaller[msg.sender] += 1;
        emit Counted(msg.sender, count);
    }

    function version() external pure virtual returns (uint256) {
        return 1;
    }
}

/// The second implementation. It keeps the layout and adds slot 2, step.
contract CounterV2 is CounterV1 {
    uint256 public step;

    function setStep(uint256 step_) external {
        step = step_;
    }

    function increment() public override {
        count += step;
        byCaller[msg.sender] += step;
        emit Counted(msg.sender, count);
    }

    function version() external pure override returns (uint256) {
        return 2;
    }
}
