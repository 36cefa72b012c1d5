/** The tables of a feed in PostgreSQL, one schema per network, and the migrations that make them. */

/**
 * Each element brings a schema from the version of its index to the next. Elements are never changed, only added.
 */
export const feedMigrations: readonly string[] = [
  `
  -- One row: the chain, the one writer, and the end of the log.
  create table feed (
    is_only boolean primary key default true check (is_only),
    chain_id text not null,
    genesis_hash bytea not null,
    epoch bigint not null default 0,
    holder text,
    lease_until timestamptz not null default 'epoch',
    sequence bigint not null default 0,
    head_number bigint,
    head_hash bytea
  );
  -- What happened, in order. number and hash: the block that it happened to.
  create table entry (
    sequence bigint primary key,
    epoch bigint not null,
    kind text not null check (kind in ('block', 'unwind', 'safe', 'finalized')),
    number bigint not null,
    hash bytea not null,
    parent_hash bytea,
    bytes bigint not null,
    appended_at timestamptz not null default clock_timestamp()
  );
  create index entry_hash on entry (hash);
  create index entry_number on entry (number);
  create index entry_marker on entry (kind, sequence) where kind in ('safe', 'finalized');
  -- The bundle of a block, deflated, in parts.
  create table part (
    sequence bigint not null references entry on delete cascade,
    part integer not null,
    bytes bytea not null,
    primary key (sequence, part)
  );
  -- Compressed before it comes here.
  alter table part alter column bytes set storage external;
  `,
]
