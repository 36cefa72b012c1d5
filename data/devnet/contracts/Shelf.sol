// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

/// One of every storage shape. Storage: 0 packed pages, year, lent and rating; 1 shortTitle; 2 longTitle; 3 scan;
/// 4 numbers; 5 books; 6 notes; 7 tiny; 8 to 11 corners; 12 owner.
contract Shelf {
    struct Book {
        uint64 year;
        address author;
        string title;
    }

    uint128 public pages;
    uint64 public year;
    bool public lent;
    uint8 public rating;
    string public shortTitle;
    string public longTitle;
    bytes public scan;
    uint256[] public numbers;
    mapping(uint256 => Book) public books;
    mapping(address => mapping(bytes32 => uint256)) public notes;
    uint8[] public tiny;
    uint256[4] public corners;
    address public owner;

    constructor() {
        owner = msg.sender;
    }

    function setPacked(uint128 pages_, uint64 year_, bool lent_, uint8 rating_) external {
        pages = pages_;
        year = year_;
        lent = lent_;
        rating = rating_;
    }

    function setTitles(string calldata shortTitle_, string calldata longTitle_) external {
        shortTitle = shortTitle_;
        longTitle = longTitle_;
    }

    function setScan(bytes calldata scan_) external {
        scan = scan_;
    }

    function pushNumbers(uint256 first, uint256 howMany) external {
        for (uint256 i = 0; i < howMany; i++) {
            numbers.push(first + i);
            tiny.push(uint8(first + i));
        }
    }

    function setBook(uint256 shelfMark, uint64 year_, address author, string calldata title) external {
        books[shelfMark] = Book(year_, author, title);
    }

    function setNote(bytes32 topic, uint256 value) external {
        notes[msg.sender][topic] = value;
    }

    function setCorner(uint256 index, uint256 value) external {
        corners[index] = value;
    }

    /// Takes everything off the shelf again: the slots go back to zero and out of the trie.
    function clear(uint256 shelfMark, bytes32 topic) external {
        delete numbers;
        delete tiny;
        delete longTitle;
        delete scan;
        delete books[shelfMark];
        delete notes[msg.sender][topic];
        delete corners;
    }
}
