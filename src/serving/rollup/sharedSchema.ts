/** The tables of a queue that several processes share, in PostgreSQL, one schema per network. */

/**
 * Each element upgrades a schema from the version of its index to the next. Unqualified names are in that schema, which
 * is first in the search path. Elements are never changed, only added.
 */
export const migrations: readonly string[] = [
  `
  -- One row: the chain, and what is waiting. Every transaction that writes locks it first, so that the limits of the
  -- queue hold for all processes together, and versions are committed in their order.
  create table queue (
    is_only boolean primary key default true check (is_only),
    chain_id text not null,
    version bigint not null default 0,
    waiting bigint not null default 0,
    waiting_bytes bigint not null default 0,
    records bigint not null default 0
  );
  -- One row: the one process that sends.
  create table lease (
    is_only boolean primary key default true check (is_only),
    epoch bigint not null default 0,
    holder text,
    lease_until timestamptz not null default 'epoch'
  );
  -- Each row belongs to the API key that submitted it (6 bytes), and is one signature of a hash: digest has the first 16
  -- bytes of the SHA-256 of its body. Felts are 32 bytes, so that byte order is number order. version: that of the queue
  -- when the row changed last.
  create table submission (
    hash bytea not null,
    key bytea not null,
    digest bytea not null,
    state text not null check (state in ('RECEIVED', 'SENT', 'ACCEPTED', 'REJECTED')),
    sender bytea not null,
    nonce bytea not null,
    received_at_ms bigint not null,
    changed_at_ms bigint not null,
    body_bytes integer not null,
    code integer,
    reason text,
    version bigint not null,
    body text not null,
    primary key (hash, key, digest)
  );
  create index submission_received on submission (received_at_ms) where state in ('RECEIVED', 'SENT');
  create index submission_settled on submission (changed_at_ms) where state in ('ACCEPTED', 'REJECTED');
  create index submission_lane on submission (key, sender, nonce, received_at_ms)
    where state in ('RECEIVED', 'SENT');
  create index submission_record on submission (key, changed_at_ms) where state in ('ACCEPTED', 'REJECTED');
  create index submission_change on submission (version, hash, key, digest);
  -- The counts of each key; a key without a row has none.
  create table key_size (
    key bytea primary key,
    waiting bigint not null,
    waiting_bytes bigint not null,
    settled bigint not null
  );
  `,
]

export const isWaiting = "state in ('RECEIVED', 'SENT')"
export const isSettledRow = "state in ('ACCEPTED', 'REJECTED')"

/** Columns that `rowOf` (sharedRows.ts) reads. */
export const rowColumns =
  'hash, key, digest, state, sender, nonce, received_at_ms, changed_at_ms, body_bytes, code, reason, version'
