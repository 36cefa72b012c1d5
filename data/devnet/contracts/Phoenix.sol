// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

/// Can destroy itself and be hatched again at the same address. Storage: 0 life, 1 feathers.
contract Phoenix {
    uint256 public life;
    mapping(uint256 => uint256) public feathers;

    constructor() payable {
        life = 1;
    }

    function grow(uint256 from, uint256 howMany) external payable {
        for (uint256 i = from; i < from + howMany; i++) feathers[i] = i + 100;
        life += 1;
    }

    function burn(address payable heir) external {
        selfdestruct(heir);
    }
}

/// Hatches phoenixes by CREATE2. Storage: 0 hatched.
contract Nest {
    uint256 public hatched;

    event Hatched(address indexed phoenix);

    function hatch(bytes32 salt) public payable returns (Phoenix phoenix) {
        phoenix = new Phoenix{salt: salt, value: msg.value}();
        hatched += 1;
        emit Hatched(address(phoenix));
    }

    /// Created and destroyed within one transaction: gone even after EIP-6780.
    function hatchAndBurn(bytes32 salt, address payable heir) external payable {
        hatch(salt).burn(heir);
    }
}
