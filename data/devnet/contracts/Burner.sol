// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

/// Burns gas in a loop of arithmetic. Storage: 0 last.
contract Burner {
    uint256 public last;

    /// 20,000 rounds are the usual load of an estimate.
    function burn(uint256 rounds) public pure returns (uint256 x) {
        x = 1;
        unchecked {
            for (uint256 i = 0; i < rounds; i++) {
                x = x * 31 + (i ^ (x >> 7));
            }
        }
    }

    function burnAndKeep(uint256 rounds) external {
        last = burn(rounds);
    }

    /// Never ends: it takes all gas it is given.
    function burnForever() external {
        while (true) last++;
    }
}
