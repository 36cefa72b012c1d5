/** The tables of shared keys in PostgreSQL, and the migrations that make them. */

/** Each element brings the schema from the version of its index to the next. Elements are never changed, only added. */
export const sharedKeysMigrations: readonly string[] = [
  `
  -- One row: the number of the newest change, which is that of its entry in the audit log.
  create table book (
    is_only boolean primary key default true check (is_only),
    sequence bigint not null default 0,
    -- By which a process with another pepper is recognised.
    pepper_mark bytea
  );
  -- digest: HMAC of the first secret. value: as in the table keys of a node store. secrets: digests of all later ones.
  create table key (
    digest bytea primary key,
    value bytea not null,
    secrets bytea[] not null,
    changed bigint not null
  );
  create index key_changed on key (changed);
  -- Entries and their chain of hashes are those of a node store.
  create table audit (
    sequence bigint primary key,
    at_ms bigint not null,
    actor text not null,
    action text not null,
    key_id text,
    detail text not null,
    hash bytea not null
  );
  `,
]
