// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

/// Code for accounts that delegate by EIP-7702. Storage (in the account): 0 batches, 1 sentTo.
contract Wallet {
    uint256 public batches;
    mapping(address => uint256) public sentTo;

    event Sent(address indexed to, uint256 value);

    function sendBatch(address[] calldata receivers, uint256 value) external payable {
        require(msg.sender == address(this), "Wallet: not the account itself");
        for (uint256 i = 0; i < receivers.length; i++) {
            (bool ok,) = receivers[i].call{value: value}("");
            require(ok, "Wallet: not received");
            sentTo[receivers[i]] += value;
            emit Sent(receivers[i], value);
        }
        batches += 1;
    }

    receive() external payable {}
}
