// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

/// Writes down what the block says of itself. Storage: 0 entries, 1 byBlock.
/// Opcode 0x44 is the difficulty before the Merge and the beacon chain's randomness after it.
contract Chronicle {
    struct Entry {
        uint256 randomness;
        bytes32 parentHash;
        bytes32 oldHash;
        uint64 time;
        address coinbase;
    }

    uint256[] public entries;
    mapping(uint256 => Entry) public byBlock;

    function record(uint256 back) external {
        entries.push(block.number);
        byBlock[block.number] =
            Entry(block.prevrandao, blockhash(block.number - 1), blockhash(block.number - back), uint64(block.timestamp), block.coinbase);
    }
}
