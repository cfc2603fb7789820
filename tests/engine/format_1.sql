BEGIN TRANSACTION;
CREATE TABLE agent_memory (
    number INTEGER PRIMARY KEY,
    agent_id TEXT NOT NULL UNIQUE,
    used INTEGER NOT NULL CHECK (used >= 0),
    update_order INTEGER NOT NULL
) STRICT;
INSERT INTO "agent_memory" VALUES(1,'7c4a8d09-ca37-42a8-9fd1-000000000001',16,3);
CREATE TABLE agent_memory_entry (
    id INTEGER PRIMARY KEY,
    agent INTEGER NOT NULL REFERENCES agent_memory (number),
    key BLOB NOT NULL,
    category TEXT NOT NULL CHECK (category IN ('PREFERENCE', 'PATTERN', 'CONTEXT', 'CACHE')),
    size INTEGER NOT NULL,
    created_by TEXT NOT NULL,
    created_domain TEXT,
    last_accessed_by TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    read_scope TEXT NOT NULL CHECK (read_scope IN ('CREATOR_GENE_ONLY', 'SAME_DOMAIN', 'ALL_GENES', 'DEPLOYER_CONFIGURED')),
    write_scope TEXT NOT NULL CHECK (write_scope IN ('CREATOR_GENE_ONLY', 'SAME_DOMAIN', 'ALL_GENES', 'DEPLOYER_CONFIGURED')),
    share_policy TEXT NOT NULL CHECK (share_policy IN ('PRIVATE', 'ANONYMIZED_SHARE', 'KNOWLEDGE_GENE')),
    follows_agent INTEGER NOT NULL CHECK (follows_agent IN (0, 1)),
    max_retention_days INTEGER,
    auto_delete INTEGER,
    anonymization INTEGER,
    expires_at INTEGER,
    update_order INTEGER NOT NULL,
    value BLOB NOT NULL,
    UNIQUE (agent, key),
    CHECK (size = length(key) + length(value))
) STRICT;
INSERT INTO "agent_memory_entry" VALUES(1,1,X'696E64656E74','PREFERENCE',7,'v2:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa','code.format','v2:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa',1700000000000,1700000000000,'SAME_DOMAIN','SAME_DOMAIN','PRIVATE',1,NULL,NULL,NULL,NULL,1,X'34');
INSERT INTO "agent_memory_entry" VALUES(2,1,X'726563656E74','PATTERN',9,'v2:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa','code.format','v2:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa',1700000000000,1700000000000,'SAME_DOMAIN','SAME_DOMAIN','PRIVATE',1,NULL,NULL,NULL,NULL,3,X'782079');
CREATE TABLE agent_memory_meta (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    schema_version INTEGER NOT NULL,
    store_id TEXT NOT NULL,
    last_change TEXT
) STRICT;
INSERT INTO "agent_memory_meta" VALUES(1,1,'d96c91e0','d96c91e0-068d6a31500e3b97');
CREATE INDEX agent_memory_entry_order
    ON agent_memory_entry (agent, update_order);
CREATE INDEX agent_memory_entry_category_order
    ON agent_memory_entry (agent, category, update_order);
CREATE INDEX agent_memory_entry_expiry
    ON agent_memory_entry (agent, expires_at) WHERE expires_at IS NOT NULL;
CREATE INDEX agent_memory_entry_followers
    ON agent_memory_entry (agent, updated_at) WHERE follows_agent = 1;
COMMIT;
