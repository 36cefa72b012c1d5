/** The tables of a queue that several processes share, in PostgreSQL, one schema per network. */

/**
 * Each element brings a schema from the version of its index to the next. Unqualified names are in that schema, which
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
    settled bigint not null default 0
  );
  -- One row: the one process that sends.
  create table lease (
    is_only boolean primary key default true check (is_only),
    epoch bigint not null default 0,
    holder text,
    lease_until timestamptz not null default 'epoch'
  );
  -- Felts are 32 bytes, so that byte order is number order. version: that of the queue when the row changed last.
  create table submission (
    hash bytea primary key,
    state text not null check (state in ('RECEIVED', 'SENT', 'ACCEPTED', 'REJECTED')),
    sender bytea not null,
    nonce bytea not null,
    received_at_ms bigint not null,
    changed_at_ms bigint not null,
    body_bytes integer not null,
    code integer,
    reason text,
    version bigint not null,
    body text not null
  );
  create unique index submission_place on submission (sender, nonce) where state in ('RECEIVED', 'SENT');
  create index submission_received on submission (received_at_ms) where state in ('RECEIVED', 'SENT');
  create index submission_settled on submission (changed_at_ms) where state in ('ACCEPTED', 'REJECTED');
  create index submission_version on submission (version, hash);
  `,
  `
  -- Each row belongs to the API key that submitted it (6 bytes), and is one signature of a hash: digest has the first 16
  -- bytes of the SHA-256 of its body. Rows from before have the key of nobody, and no digest.
  alter table submission
    add column key bytea not null default '\\x000000000000',
    add column digest bytea not null default '\\x';
  alter table submission
    alter column key drop default,
    alter column digest drop default,
    drop constraint submission_pkey,
    add primary key (hash, key, digest);
  drop index submission_place, submission_version;
  create index submission_lane on submission (key, sender, nonce, received_at_ms)
    where state in ('RECEIVED', 'SENT');
  create index submission_record on submission (key, changed_at_ms) where state in ('ACCEPTED', 'REJECTED');
  create index submission_change on submission (version, hash, key, digest);
  -- What each key has; a key without a row has nothing.
  create table key_size (
    key bytea primary key,
    waiting bigint not null,
    waiting_bytes bigint not null,
    settled bigint not null
  );
  insert into key_size
    select key, count(*) filter (where state in ('RECEIVED', 'SENT')),
      coalesce(sum(body_bytes) filter (where state in ('RECEIVED', 'SENT')), 0),
      count(*) filter (where state in ('ACCEPTED', 'REJECTED'))
    from submission group by key;
  -- Processes of the release before, which do not count by key, fail by this at once; then they are refused.
  alter table queue rename column settled to records;
  `,
]

export const isWaiting = "state in ('RECEIVED', 'SENT')"
export const isSettledRow = "state in ('ACCEPTED', 'REJECTED')"

/** Columns that `rowOf` (sharedRows.ts) reads. */
export const rowColumns =
  'hash, key, digest, state, sender, nonce, received_at_ms, changed_at_ms, body_bytes, code, reason, version'
