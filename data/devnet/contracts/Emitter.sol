// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

/// Logs with every number of topics. It has no storage.
contract Emitter {
    event None(uint256 value) anonymous;
    event One(uint256 value);
    event Two(uint256 indexed a, uint256 value);
    event Three(uint256 indexed a, address indexed b, uint256 value);
    event Four(uint256 indexed a, address indexed b, bytes32 indexed c, uint256 value);
    event FourAnonymous(uint256 indexed a, address indexed b, bytes32 indexed c, uint256 indexed d) anonymous;
    event Text(string indexed hashed, string plain);

    function everyTopic(uint256 value) external {
        emit None(value);
        emit One(value);
        emit Two(1, value);
        emit Three(1, msg.sender, value);
        emit Four(1, msg.sender, bytes32("tide"), value);
        emit FourAnonymous(1, msg.sender, bytes32("tide"), value);
        emit Text("ebb", "flow");
    }

    function many(uint256 howMany) external {
        for (uint256 i = 0; i < howMany; i++) emit Three(i, msg.sender, i * i);
    }

    /// Logs, then fails: no log may remain.
    function thenFail() external {
        emit One(1);
        revert("Emitter: washed away");
    }
}
