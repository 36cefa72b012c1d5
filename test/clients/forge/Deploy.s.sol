// SPDX-License-Identifier: MIT
pragma solidity ^0.8.0;

interface Vm {
    function startBroadcast() external;
    function stopBroadcast() external;
}

contract Counter {
    uint256 public number;

    function set(uint256 to) external {
        number = to;
    }
}

/// Deploys a contract and calls it, in two transactions.
contract Deploy {
    Vm constant vm = Vm(address(uint160(uint256(keccak256("hevm cheat code")))));

    function run() external {
        vm.startBroadcast();
        new Counter().set(42);
        vm.stopBroadcast();
    }
}
