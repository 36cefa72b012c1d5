// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

/// Stands in for the beacon chain's deposit contract: it logs what a deposit would (EIP-6110) and keeps only a count.
/// Storage: 0 count.
contract Depositor {
    uint256 public count;

    event DepositEvent(bytes pubkey, bytes withdrawal_credentials, bytes amount, bytes signature, bytes index);

    function deposit(bytes calldata pubkey, bytes calldata credentials, bytes calldata signature) external payable {
        require(pubkey.length == 48 && credentials.length == 32 && signature.length == 96, "Depositor: wrong length");
        emit DepositEvent(pubkey, credentials, _littleEndian(msg.value / 1 gwei), signature, _littleEndian(count));
        count += 1;
    }

    function _littleEndian(uint256 value) private pure returns (bytes memory out) {
        out = new bytes(8);
        for (uint256 i = 0; i < 8; i++) out[i] = bytes1(uint8(value >> (8 * i)));
    }
}
