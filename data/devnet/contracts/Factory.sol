// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

/// What the factory makes. Storage: 0 maker, 1 number.
contract Child {
    address public maker;
    uint256 public number;

    constructor(uint256 number_) payable {
        require(number_ != 13, "Child: unlucky");
        maker = msg.sender;
        number = number_;
    }
}

/// Makes children by CREATE and CREATE2. Storage: 0 children.
contract Factory {
    address[] public children;

    event Made(address indexed child, uint256 number, bytes32 salt);

    function make(uint256 number) external payable returns (address child) {
        child = address(new Child{value: msg.value}(number));
        children.push(child);
        emit Made(child, number, 0);
    }

    function makeAt(bytes32 salt, uint256 number) external payable returns (address child) {
        child = address(new Child{value: msg.value, salt: salt}(number));
        children.push(child);
        emit Made(child, number, salt);
    }
}
