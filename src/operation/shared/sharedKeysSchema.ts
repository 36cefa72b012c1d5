/** The tables of shared keys in PostgreSQL, and the migrations that make them. */

/**
 * Each element upgrades the schema from the version of its index to the next. Elements are never changed, only added.
 */
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
  -- Processes that spend from quotas, each until it was not heard for long.
  create table process (
    name text primary key,
    until timestamptz not null
  );
  -- What all processes have of a key: a bucket, by the time (seconds since 1970) at which it is full again; the units
  -- of a day (since 1970, UTC). Units that are leased count as spent.
  create table quota (
    key_id text primary key,
    full_at float8 not null default 0,
    day integer not null default 0,
    day_units bigint not null default 0
  );
  -- Units that a process may still spend of a key.
  create table lease (
    key_id text not null references quota,
    process text not null,
    units bigint not null,
    until timestamptz not null,
    primary key (key_id, process)
  );
  -- Takes what a process spent of a key, and leases it up to so many units more (none and less than none: its lease
  -- ends). Absent limits are null. Whoever calls it for several keys does so in the order of their ids.
  create function exchange_lease(
    key_of text, process_of text, spent bigint, wanted bigint, lease_ms float8,
    per_second float8, burst float8, per_day bigint,
    out granted bigint, out wait_ms float8, out is_day_over boolean, out burst_left float8, out day_left bigint,
    out holders integer
  ) language plpgsql as $$
  declare
    now_at float8 := extract(epoch from clock_timestamp());
    today integer := floor(extract(epoch from clock_timestamp()) / 86400);
    own quota;
    held bigint;
    back bigint;
    taken bigint;
  begin
    insert into quota (key_id) values (key_of) on conflict do nothing;
    select * into own from quota where key_id = key_of for update;
    if own.day <> today then
      own.day := today;
      own.day_units := 0;
    end if;
    select coalesce(sum(units), 0) into held from lease where key_id = key_of and process = process_of;
    -- Leases that were lost, and the rest of this one where it ends.
    with lost as (
      delete from lease where key_id = key_of and process <> process_of and until < clock_timestamp() returning units
    ) select coalesce(sum(units), 0) into back from lost;
    -- What was spent beyond the lease.
    taken := greatest(spent - held, 0);
    held := greatest(held - spent, 0);
    if wanted < 0 then
      back := back + held;
      held := 0;
    end if;
    own.day_units := greatest(own.day_units + taken - back, 0);
    if per_second is not null then
      own.full_at := greatest(own.full_at, now_at) + (taken - back) / per_second;
      -- No debt is longer than a minute.
      own.full_at := least(greatest(own.full_at, now_at), now_at + burst / per_second + 60);
    end if;
    burst_left := case when per_second is null then null else burst - (own.full_at - now_at) * per_second end;
    day_left := per_day - own.day_units;
    granted := greatest(least(greatest(wanted, 0), floor(coalesce(burst_left, wanted)), coalesce(day_left, wanted)), 0);
    is_day_over := coalesce(day_left, wanted) < wanted and coalesce(day_left, wanted) <= coalesce(burst_left, day_left);
    wait_ms := case
      when granted >= wanted then 0
      when is_day_over then ((today + 1)::float8 * 86400 - now_at) * 1000
      else least((wanted - granted) / per_second, 0.25) * 1000
    end;
    if per_second is not null then
      own.full_at := own.full_at + granted / per_second;
      burst_left := greatest(burst_left - granted, 0);
    end if;
    own.day_units := own.day_units + granted;
    day_left := greatest(day_left - granted, 0);
    update quota set full_at = own.full_at, day = own.day, day_units = own.day_units where key_id = key_of;
    if wanted < 0 then
      delete from lease where key_id = key_of and process = process_of;
    else
      insert into lease (key_id, process, units, until)
      values (key_of, process_of, held + granted, clock_timestamp() + lease_ms * interval '1 ms')
      on conflict (key_id, process) do update set units = excluded.units, until = excluded.until;
    end if;
    select count(*) into holders from lease where key_id = key_of and until > clock_timestamp();
  end $$;
  `,
]
