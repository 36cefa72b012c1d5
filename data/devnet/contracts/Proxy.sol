// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

/// A proxy with the storage slots of EIP-1967. Everything that is not its own goes to the implementation.
contract Proxy {
    /// keccak256("eip1967.proxy.implementation") - 1
    bytes32 internal constant IMPLEMENTATION = 0x360894a13ba1a3210667c828492db98dca3e2076cc3735a920a3ca505d382bbc;
    /// keccak256("eip1967.proxy.admin") - 1
    bytes32 internal constant ADMIN = 0xb53127684a568b3173ae13b9f8a6016e243e63b6e8ee1178d6a717850b5d6103;

    event Upgraded(address indexed implementation);
    event AdminChanged(address previousAdmin, address newAdmin);

    constructor(address implementation) payable {
        _store(IMPLEMENTATION, implementation);
        _store(ADMIN, msg.sender);
        emit Upgraded(implementation);
        emit AdminChanged(address(0), msg.sender);
    }

    function upgradeTo(address implementation) external {
        require(msg.sender == _load(ADMIN), "Proxy: not the admin");
        _store(IMPLEMENTATION, implementation);
        emit Upgraded(implementation);
    }

    fallback() external payable {
        address implementation = _load(IMPLEMENTATION);
        assembly {
            calldatacopy(0, 0, calldatasize())
            let ok := delegatecall(gas(), implementation, 0, calldatasize(), 0, 0)
            returndatacopy(0, 0, returndatasize())
            if iszero(ok) { revert(0, returndatasize()) }
            return(0, returndatasize())
        }
    }

    receive() external payable {}

    function _load(bytes32 slot) private view returns (address value) {
        assembly { value := sload(slot) }
    }

    function _store(bytes32 slot, address value) private {
        assembly { sstore(slot, value) }
    }
}
