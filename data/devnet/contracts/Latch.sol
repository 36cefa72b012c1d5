// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

/// A lock in transient storage (EIP-1153) and the blob fields (EIP-4844, EIP-7516).
/// Storage: 0 opened, 1 refused, 2 blobHash, 3 blobBaseFee. `locked` is in no trie.
contract Latch {
    bool transient locked;
    uint256 public opened;
    uint256 public refused;
    bytes32 public blobHash;
    uint256 public blobBaseFee;

    function open(uint256 depth) public {
        if (locked) {
            refused += 1;
            return;
        }
        locked = true;
        opened += 1;
        if (depth > 0) this.open(depth - 1);
        locked = false;
    }

    function noteBlob() external {
        blobHash = blobhash(0);
        blobBaseFee = block.blobbasefee;
    }
}
