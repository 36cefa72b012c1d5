// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

/// Fails in every way that a contract can. Storage: 0 kept, never written for good.
contract Reverter {
    error Refused(uint256 code, address caller);
    error Bare();

    uint256 public kept;

    function withReason() external {
        kept = 1;
        require(false, "Reverter: the tide is out");
    }

    function withLongReason() external pure {
        revert("Reverter: a reason that is longer than thirty-two bytes and therefore takes more than one word");
    }

    function withoutReason() external pure {
        require(false);
    }

    function withCustomError(uint256 code) external view {
        revert Refused(code, msg.sender);
    }

    function withBareError() external pure {
        revert Bare();
    }

    function withAssert() external pure {
        assert(false);
    }

    function withOverflow(uint256 x) external pure returns (uint256) {
        return x + type(uint256).max;
    }

    function withDivision(uint256 x) external pure returns (uint256) {
        return 1 / x;
    }

    function withIndex(uint256 i) external pure returns (uint256) {
        uint256[] memory three = new uint256[](3);
        return three[i];
    }

    function withInvalidOpcode() external pure {
        assembly { invalid() }
    }

    /// Calls itself, keeps going when that fails, and succeeds: a failure inside a successful transaction.
    function swallow() external returns (bool ok) {
        (ok,) = address(this).call(abi.encodeWithSelector(this.withReason.selector));
        kept = 0;
    }
}
