// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

interface Token {
    function transfer(address to, uint256 value) external returns (bool);
    function transferFrom(address from, address to, uint256 value) external returns (bool);
}

/// A constant-product exchange of two tokens with a fee of 0.3 %.
/// Storage: 0 tokenA, 1 tokenB, 2 packed reserveA, reserveB and lastTrade, 3 totalShares, 4 shares.
contract Exchange {
    Token public tokenA;
    Token public tokenB;
    uint112 public reserveA;
    uint112 public reserveB;
    uint32 public lastTrade;
    uint256 public totalShares;
    mapping(address => uint256) public shares;

    event Mint(address indexed provider, uint256 amountA, uint256 amountB, uint256 minted);
    event Burn(address indexed provider, uint256 amountA, uint256 amountB, uint256 burnt);
    event Swap(address indexed trader, bool indexed fromA, uint256 amountIn, uint256 amountOut);
    event Sync(uint112 reserveA, uint112 reserveB);

    constructor(address tokenA_, address tokenB_) {
        tokenA = Token(tokenA_);
        tokenB = Token(tokenB_);
    }

    function addLiquidity(uint256 amountA, uint256 amountB) external returns (uint256 minted) {
        if (totalShares == 0) {
            minted = _squareRoot(amountA * amountB);
        } else {
            uint256 byA = amountA * totalShares / reserveA;
            uint256 byB = amountB * totalShares / reserveB;
            minted = byA < byB ? byA : byB;
        }
        require(minted > 0, "Exchange: nothing minted");
        require(tokenA.transferFrom(msg.sender, address(this), amountA), "Exchange: A not paid");
        require(tokenB.transferFrom(msg.sender, address(this), amountB), "Exchange: B not paid");
        totalShares += minted;
        shares[msg.sender] += minted;
        emit Mint(msg.sender, amountA, amountB, minted);
        _update(uint256(reserveA) + amountA, uint256(reserveB) + amountB);
    }

    function removeLiquidity(uint256 burnt) external {
        require(shares[msg.sender] >= burnt, "Exchange: shares too low");
        uint256 amountA = burnt * reserveA / totalShares;
        uint256 amountB = burnt * reserveB / totalShares;
        shares[msg.sender] -= burnt;
        totalShares -= burnt;
        require(tokenA.transfer(msg.sender, amountA), "Exchange: A not paid");
        require(tokenB.transfer(msg.sender, amountB), "Exchange: B not paid");
        emit Burn(msg.sender, amountA, amountB, burnt);
        _update(reserveA - amountA, reserveB - amountB);
    }

    function swap(bool fromA, uint256 amountIn, uint256 amountOutMin) external returns (uint256 amountOut) {
        (uint256 reserveIn, uint256 reserveOut) = fromA ? (reserveA, reserveB) : (reserveB, reserveA);
        uint256 afterFee = amountIn * 997;
        amountOut = afterFee * reserveOut / (reserveIn * 1000 + afterFee);
        require(amountOut >= amountOutMin, "Exchange: price moved");
        (Token paid, Token received) = fromA ? (tokenA, tokenB) : (tokenB, tokenA);
        require(paid.transferFrom(msg.sender, address(this), amountIn), "Exchange: not paid");
        require(received.transfer(msg.sender, amountOut), "Exchange: not sent");
        emit Swap(msg.sender, fromA, amountIn, amountOut);
        if (fromA) _update(reserveIn + amountIn, reserveOut - amountOut);
        else _update(reserveOut - amountOut, reserveIn + amountIn);
    }

    function _update(uint256 newA, uint256 newB) private {
        require(newA <= type(uint112).max && newB <= type(uint112).max, "Exchange: overflow");
        reserveA = uint112(newA);
        reserveB = uint112(newB);
        lastTrade = uint32(block.timestamp);
        emit Sync(reserveA, reserveB);
    }

    function _squareRoot(uint256 y) private pure returns (uint256 z) {
        if (y == 0) return 0;
        z = y;
        uint256 x = y / 2 + 1;
        while (x < z) {
            z = x;
            x = (y / x + x) / 2;
        }
    }
}
