-- The layers: the memory that all of a database's users share. Their audit lines are in rotifer.audit.
--
-- Every key begins with the actor, the empty text for what is nobody's. An actor's lock, and the
-- numbers of its audit lines, are the row of rotifer.agent with the id 'layers/' and the actor.
-- An actor's update order goes by the time and by the order of its own before: nothing counts for all.
-- What an agent's users share in its channel is the one thing that is read of many actors at once.
-- The index for it says where to look, is not unique, and no write waits for another because of it.

CREATE TABLE rotifer.layer (
    actor text COLLATE "C" NOT NULL,
    entry_id text COLLATE "C" NOT NULL,
    scope text COLLATE "C" NOT NULL,
    namespace text COLLATE "C" NOT NULL,
    kind text COLLATE "C" NOT NULL,
    session text COLLATE "C" NOT NULL,
    key text COLLATE "C" NOT NULL,
    size bigint NOT NULL,
    created_at bigint NOT NULL,
    updated_at bigint NOT NULL,
    update_order bigint NOT NULL,
    metadata text NOT NULL,
    content text NOT NULL,
    PRIMARY KEY (actor, entry_id)
) WITH (fillfactor = 90);

CREATE INDEX layer_order ON rotifer.layer (actor, update_order);
CREATE INDEX layer_scope_order ON rotifer.layer (actor, scope, update_order);
CREATE INDEX layer_room_order ON rotifer.layer (namespace, update_order, actor)
    WHERE substr(namespace, 1, 8) = 'agent://';
