// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

type Price is uint96;
type Tag is bytes4;

contract Base {
    uint256 private hidden = 1;
    bool internal flag = true;
}

/// One of every kind of variable, filled by its constructor.
contract Cabinet is Base {
    enum Wood { Oak, Ash, Elm }
    struct Hinge { int16 angle; bytes3 code; bool oiled; }
    struct Drawer { uint8 width; string label; Hinge[2] hinges; uint16[] spoons; mapping(address => Wood) polish; }
    struct Node { uint32 value; Node[] children; }

    uint256 private hidden = 2;
    int8 tiny = -128;
    int256 huge = type(int256).min;
    uint256 most = type(uint256).max;
    address payable owner = payable(0x00000000000000000000000000000000DeaDBeef);
    Wood wood = Wood.Elm;
    Cabinet twin = Cabinet(0x1111111111111111111111111111111111111111);
    Price price = Price.wrap(123456789012345678901234567);
    Tag tag = Tag.wrap(0xcafebabe);
    bytes32 word = "thirty-two";
    bytes1 one = 0x7f;
    function(uint256) external returns (bool) callback;

    string empty;
    string short31 = "0123456789012345678901234567890";
    string long32 = "01234567890123456789012345678901";
    string long33 = unicode"Gezeitentür – 潮の門, more than a slot";
    bytes shortBytes = hex"00ff00";
    bytes longBytes;
    string broken;

    uint8[] packed;
    uint24[] triples;
    int64[7] fixedInts;
    uint128[3][2] grid;
    uint8[][] ragged;
    uint16[4][] rows;
    address[] people;
    string[] names;
    bool[40] flags;
    Hinge[] hinges;
    Drawer drawer;
    Drawer[] drawers;
    Node tree;

    mapping(uint256 => uint256) byNumber;
    mapping(int8 => int8) bySigned;
    mapping(bool => uint64) byBool;
    mapping(Wood => string) byWood;
    mapping(Cabinet => uint256) byContract;
    mapping(bytes4 => uint256) byBytes4;
    mapping(string => uint256) byText;
    mapping(bytes => uint256) byBytes;
    mapping(Price => uint256) byPrice;
    mapping(address => mapping(string => mapping(uint8 => Hinge))) deep;
    mapping(uint256 => uint32[]) lists;
    mapping(uint256 => uint256)[2] maps;
    mapping(uint256 => Drawer) stock;

    constructor() {
        callback = this.take;
        longBytes = new bytes(100);
        for (uint256 i = 0; i < 100; i++) longBytes[i] = bytes1(uint8(i));
        bytes memory raw = hex"61ff62"; broken = string(raw);
        for (uint256 i = 0; i < 70; i++) packed.push(uint8(i * 3));
        for (uint256 i = 0; i < 23; i++) triples.push(uint24(i * 700000));
        for (uint256 i = 0; i < 7; i++) fixedInts[i] = -int64(int256(i)) * 1e15;
        for (uint256 i = 0; i < 2; i++) for (uint256 j = 0; j < 3; j++) grid[i][j] = uint128(10 * i + j + 1);
        ragged.push(); ragged.push(); ragged.push();
        for (uint256 i = 0; i < 40; i++) ragged[1].push(uint8(i));
        ragged[2].push(9);
        rows.push([uint16(1), 2, 3, 4]); rows.push([uint16(5), 6, 7, 65535]);
        people.push(address(1)); people.push(address(this));
        names.push("first"); names.push(""); names.push("the third name is longer than one slot can hold");
        flags[0] = true; flags[31] = true; flags[32] = true; flags[39] = true;
        hinges.push(Hinge(-90, 0x616263, true)); hinges.push(Hinge(1, 0x000000, false));
        fill(drawer, 1);
        drawers.push(); fill(drawers[0], 2);
        drawers.push();
        tree.value = 1;
        tree.children.push(); tree.children.push();
        tree.children[1].value = 3;
        tree.children[1].children.push();
        tree.children[1].children[0].value = 4;
        byNumber[0] = 5; byNumber[2**200] = 6;
        bySigned[-1] = -2; bySigned[127] = 3;
        byBool[true] = 7; byBool[false] = 8;
        byWood[Wood.Ash] = "ash";
        byContract[twin] = 9;
        byBytes4[0xcafebabe] = 10;
        byText["ada"] = 11; byText[""] = 12; byText["a]\"b"] = 13;
        byText["a key that is longer than thirty-two bytes, as texts may well be"] = 14;
        byBytes[hex"cafebabe"] = 15;
        byPrice[Price.wrap(16)] = 16;
        deep[address(this)]["x"][7] = Hinge(12, 0x010203, true);
        lists[3].push(31); lists[3].push(32);
        maps[1][5] = 55;
        fill(stock[9], 4);
    }

    function fill(Drawer storage it, uint8 seed) private {
        it.width = seed;
        it.label = seed == 4 ? "a label that is longer than one slot, to be sure" : "label";
        it.hinges[1] = Hinge(int16(int8(seed)) * -100, 0xabcdef, true);
        it.spoons.push(seed); it.spoons.push(uint16(seed) * 1000);
        it.polish[address(uint160(seed))] = Wood.Ash;
    }

    function take(uint256) external pure returns (bool) { return true; }
    function seen() external view returns (uint256, bool) { return (hidden, flag); }
}
