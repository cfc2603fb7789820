-- The memories of agents, and the lines of their audit log.
--
-- Every key begins with the agent: nothing spans two agents, so the tables can be sharded by it.
-- Keys are bytes: no collation, no NUL that cuts, a prefix is a range. A domain is bytes too,
-- because text here cannot hold a NUL. Times are milliseconds since 1970, given by the client.

CREATE TABLE rotifer.agent (
    agent_id text COLLATE "C" PRIMARY KEY,
    used bigint NOT NULL CHECK (used >= 0),
    update_order bigint NOT NULL,
    audit_order bigint NOT NULL,
    last_change text
) WITH (fillfactor = 50);

CREATE TABLE rotifer.entry (
    agent_id text COLLATE "C" NOT NULL REFERENCES rotifer.agent (agent_id),
    key bytea NOT NULL,
    category text NOT NULL CHECK (category IN ('PREFERENCE', 'PATTERN', 'CONTEXT', 'CACHE')),
    size bigint NOT NULL,
    created_by text NOT NULL,
    created_domain bytea,
    last_accessed_by text NOT NULL,
    created_at bigint NOT NULL,
    updated_at bigint NOT NULL,
    read_scope text NOT NULL CHECK (read_scope IN
        ('CREATOR_GENE_ONLY', 'SAME_DOMAIN', 'ALL_GENES', 'DEPLOYER_CONFIGURED')),
    write_scope text NOT NULL CHECK (write_scope IN
        ('CREATOR_GENE_ONLY', 'SAME_DOMAIN', 'ALL_GENES', 'DEPLOYER_CONFIGURED')),
    share_policy text NOT NULL CHECK (share_policy IN
        ('PRIVATE', 'ANONYMIZED_SHARE', 'KNOWLEDGE_GENE')),
    follows_agent smallint NOT NULL CHECK (follows_agent IN (0, 1)),
    max_retention_days bigint,
    auto_delete smallint,
    anonymization smallint,
    expires_at bigint,
    update_order bigint NOT NULL,
    value bytea NOT NULL,
    PRIMARY KEY (agent_id, key),
    CHECK (size = octet_length(key) + octet_length(value))
) WITH (fillfactor = 90);

CREATE INDEX entry_order ON rotifer.entry (agent_id, update_order);
CREATE INDEX entry_category_order ON rotifer.entry (agent_id, category, update_order);
CREATE INDEX entry_expiry ON rotifer.entry (agent_id, expires_at) WHERE expires_at IS NOT NULL;
CREATE INDEX entry_followers ON rotifer.entry (agent_id, updated_at) WHERE follows_agent = 1;

CREATE TABLE rotifer.audit (
    agent_id text COLLATE "C" NOT NULL,
    audit_order bigint NOT NULL,
    change_id text NOT NULL,
    line text NOT NULL,
    PRIMARY KEY (agent_id, audit_order)
);
