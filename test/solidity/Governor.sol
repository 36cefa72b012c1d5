// SPDX-License-Identifier: MIT
pragma solidity ^0.8.20;

/// A governor with the periods of OpenZeppelin's sample: a day of blocks until the vote, a week of blocks for it, and
/// two days in a timelock. The deployer has all votes.
contract Governor {
    enum State {
        Pending,
        Active,
        Defeated,
        Succeeded,
        Queued,
        Executed
    }

    struct Proposal {
        address target;
        bytes data;
        uint256 snapshot;
        uint256 deadline;
        uint256 votes;
        uint256 readyAt;
        bool isExecuted;
    }

    uint256 public constant votingDelay = 7200;
    uint256 public constant votingPeriod = 50400;
    uint256 public constant timelock = 2 days;

    event ProposalCreated(uint256 id, uint256 voteStart, uint256 voteEnd);
    error UnexpectedState(State current);
    error NotReady(uint256 readyAt);

    address public immutable voter = msg.sender;
    uint256 public value;
    Proposal[] private proposals;
    mapping(uint256 => mapping(address => bool)) private hasVoted;

    modifier onlyIn(uint256 id, State wanted) {
        State current = state(id);
        if (current != wanted) revert UnexpectedState(current);
        _;
    }

    function state(uint256 id) public view returns (State) {
        Proposal storage proposal = proposals[id];
        if (proposal.isExecuted) return State.Executed;
        if (proposal.readyAt != 0) return State.Queued;
        if (block.number <= proposal.snapshot) return State.Pending;
        if (block.number <= proposal.deadline) return State.Active;
        return proposal.votes == 0 ? State.Defeated : State.Succeeded;
    }

    function propose(address target, bytes calldata data) external returns (uint256 id) {
        uint256 snapshot = block.number + votingDelay;
        id = proposals.length;
        proposals.push(Proposal(target, data, snapshot, snapshot + votingPeriod, 0, 0, false));
        emit ProposalCreated(id, snapshot, snapshot + votingPeriod);
    }

    function castVote(uint256 id) external onlyIn(id, State.Active) {
        require(msg.sender == voter && !hasVoted[id][msg.sender], "no votes");
        hasVoted[id][msg.sender] = true;
        proposals[id].votes = 1;
    }

    function queue(uint256 id) external onlyIn(id, State.Succeeded) {
        proposals[id].readyAt = block.timestamp + timelock;
    }

    function execute(uint256 id) external onlyIn(id, State.Queued) {
        Proposal storage proposal = proposals[id];
        if (block.timestamp < proposal.readyAt) revert NotReady(proposal.readyAt);
        proposal.isExecuted = true;
        (bool isSuccess,) = proposal.target.call(proposal.data);
        require(isSuccess, "the call failed");
    }

    function setValue(uint256 wanted) external {
        require(msg.sender == address(this), "only by a proposal");
        value = wanted;
    }

    /// The hash of the parent, by BLOCKHASH.
    function parentHash() external view returns (bytes32) {
        return blockhash(block.number - 1);
    }
}
