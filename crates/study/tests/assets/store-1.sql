-- A store as version 1 was written, without checksums; old stores must open for ever.
PRAGMA foreign_keys=OFF;
BEGIN TRANSACTION;
CREATE TABLE study (
    name     TEXT PRIMARY KEY,
    hash     TEXT NOT NULL,      -- SHA-256 of the protocol
    protocol TEXT NOT NULL       -- canonical JSON
) STRICT;
INSERT INTO study VALUES('old','fe98d823273050133d2f724eafabcef1a490e9438874215d519de8410da08603','{"title":"Old","question":"","methods":["single","loop"],"seeds":{"first":1,"count":2},"test_splits":[1],"baselines":false,"cases":[{"name":"bumps","data":"sim:bumps","budget":24,"train":32,"valid":32}],"search":{"updates":32,"fan":false,"protocol":{"rungs":[{"fits":1,"share":1.0,"shorten":1}],"shapes":{"count":8},"start":{"outgoing_multiplier":{"factor":1.0,"power":1.0}},"decay":{"none":0.0,"strength":[3.0,60.0],"decoupled":false},"batches":{"size":128},"scoring":{"up_to":256,"learning_rate":[0.07,0.15],"final_rate":0.001,"damping":[0.03,0.15],"step_cap":0.1,"memory":0.9,"refresh":10},"adam":{"learning_rate":[0.004,0.015],"final_rate":0.05,"outgoing_rate":{"factor":1.0,"power":0.5},"gradient_cap":5.0},"refit":false}}}');
CREATE TABLE task (
    study  TEXT NOT NULL REFERENCES study (name),
    task   TEXT NOT NULL,
    phase  TEXT NOT NULL,        -- development or confirmation
    "case" TEXT NOT NULL,
    split  INTEGER,              -- test split of a table
    seed   INTEGER NOT NULL,
    PRIMARY KEY (study, task)
) STRICT;
INSERT INTO task VALUES('old','confirmation/bumps/1','confirmation','bumps',NULL,1);
INSERT INTO task VALUES('old','confirmation/bumps/2','confirmation','bumps',NULL,2);
CREATE TABLE fit (
    study       TEXT NOT NULL,
    task        TEXT NOT NULL,
    fit         TEXT NOT NULL,
    method      TEXT NOT NULL,   -- single, loop or untied
    spec        TEXT NOT NULL,   -- canonical JSON: all that the result depends on
    stop        TEXT NOT NULL,   -- completed or diverged
    validation  REAL,            -- best average negative log-likelihood; NULL if none was finite
    best_update INTEGER NOT NULL,
    updates     INTEGER NOT NULL,
    curve       TEXT NOT NULL,   -- JSON: [[updates, validation loss], ...]
    parameters  BLOB NOT NULL,   -- 32-bit little-endian floats
    seconds     REAL NOT NULL,   -- processor time: the only column that may differ between runs
    PRIMARY KEY (study, task, fit),
    FOREIGN KEY (study, task) REFERENCES task (study, task)
) STRICT;
INSERT INTO fit VALUES('old','confirmation/bumps/1','single/round-1/start-000','single','{"bounds":{"coefficient":128.0,"output":8.0},"likelihood":{"kind":"gaussian","sigma":0.7071067811865476},"network":{"architecture":{"kind":"ffn"},"d":2,"outputs":1,"q":2,"r":2,"tying":{"method":"single"}},"stages":[{"batch":128,"final_rate":0.001,"learning_rate":0.07149061413866968,"optimiser":{"scoring":{"damping":0.06820624204263176,"memory":0.9,"refresh":10,"step_cap":0.1}},"updates":32,"validate_every":50,"weight_decay":{"coupled":0.0}}],"start":{"fresh":{"outgoing_multiplier":1.0}},"stream":"2539777f9a9fb3a4","train":"68e8bff87808973931d80a90688e8d6dd926c07ccb80b42de59dfc3eff43659b","valid":"7f9ba9bc35ce0193633a1ff9007949a45a83ec9998b7ec8aa1e5546c8e0c85b2"}','completed',1.7294187046868416679,32,32,'[[0,1.7528903060718506],[32,1.7294187046868417]]',X'01f344bc404a14beca5a383ff10a063ffc9719bd78416c3ea0d9293f25a813bff8ef7d3ea2c1173fb67930bfb6e4e2be19a6bb3e4fd113bf158d0cbf84ab2c3f94b75d3bf4b5eabc4b657f3d0a2055be768a013e',0.00049101299999999999633);
INSERT INTO fit VALUES('old','confirmation/bumps/1','loop/round-1/start-000','loop','{"bounds":{"coefficient":128.0,"output":8.0},"likelihood":{"kind":"gaussian","sigma":0.7071067811865476},"network":{"architecture":{"kind":"ffn"},"d":2,"outputs":1,"q":2,"r":2,"tying":{"method":"loop","t":16}},"stages":[{"batch":128,"final_rate":0.001,"learning_rate":0.0930721364570537,"optimiser":{"scoring":{"damping":0.11885134938765014,"memory":0.9,"refresh":10,"step_cap":0.1}},"updates":32,"validate_every":50,"weight_decay":{"coupled":0.0}}],"start":{"fresh":{"outgoing_multiplier":0.0625}},"stream":"a1146f44a2b9d6dd","train":"68e8bff87808973931d80a90688e8d6dd926c07ccb80b42de59dfc3eff43659b","valid":"7f9ba9bc35ce0193633a1ff9007949a45a83ec9998b7ec8aa1e5546c8e0c85b2"}','completed',1.7844593921949905013,32,32,'[[0,1.827808956171532],[32,1.7844593921949905]]',X'4a1d90bc2be6e0be951089bd9af7db3e96875ebee904ae3c5ec4b2befaaa87be095484bcd1a36bbebfa42e3fe5d8183fd275b0bb0a04febce4b3043d46875fbde64a81bdaaeef2bc56342cbe4fc125be6ddecbbe',0.00027523800000000002343);
INSERT INTO fit VALUES('old','confirmation/bumps/2','single/round-1/start-000','single','{"bounds":{"coefficient":128.0,"output":8.0},"likelihood":{"kind":"gaussian","sigma":0.7071067811865476},"network":{"architecture":{"kind":"ffn"},"d":2,"outputs":1,"q":2,"r":2,"tying":{"method":"single"}},"stages":[{"batch":128,"final_rate":0.001,"learning_rate":0.07635660244577451,"optimiser":{"scoring":{"damping":0.06165271391855228,"memory":0.9,"refresh":10,"step_cap":0.1}},"updates":32,"validate_every":50,"weight_decay":{"coupled":0.0}}],"start":{"fresh":{"outgoing_multiplier":1.0}},"stream":"6c59966120848408","train":"3c44f3f70ee971c8324ab21c3177fd1fe45edd0bfb02429001d438c32bac1f63","valid":"6382d3b729262c4d70976984ec154a10de73faeb0fdee4cb6e859ca90fda7102"}','completed',1.0760007526561377044,32,32,'[[0,1.2391963336377376],[32,1.0760007526561377]]',X'440afd3d7e8917bf4a5861bea7243b3fda0119bfd3513dbfd51e383c13edd43e8bafe1be06d8d53cae4823bec4c38b3eb1cca93ce9169bbea3302a3fa4341bbe541b523c77a5f2bddfdcb5bda270cf3ea7fe883e',0.00022301100000000001);
INSERT INTO fit VALUES('old','confirmation/bumps/2','loop/round-1/start-000','loop','{"bounds":{"coefficient":128.0,"output":8.0},"likelihood":{"kind":"gaussian","sigma":0.7071067811865476},"network":{"architecture":{"kind":"ffn"},"d":2,"outputs":1,"q":2,"r":2,"tying":{"method":"loop","t":16}},"stages":[{"batch":128,"final_rate":0.001,"learning_rate":0.07149003618874783,"optimiser":{"scoring":{"damping":0.1382336028928009,"memory":0.9,"refresh":10,"step_cap":0.1}},"updates":32,"validate_every":50,"weight_decay":{"coupled":0.0}}],"start":{"fresh":{"outgoing_multiplier":0.0625}},"stream":"b6f8abba6aae0ca3","train":"3c44f3f70ee971c8324ab21c3177fd1fe45edd0bfb02429001d438c32bac1f63","valid":"6382d3b729262c4d70976984ec154a10de73faeb0fdee4cb6e859ca90fda7102"}','completed',0.95275839721260890957,32,32,'[[0,1.0512445287336452],[32,0.9527583972126089]]',X'bf0ace3ebf242ebe0155323f3fc8853e918c3f3e22cbaabd62661bbf7cf5483e3652fabe11c028bf99ac0c3ff705ab3ede9cf1bd3eb9813e0568163dedfd63be319cc23cf701fd3b403511bf8bc2c03c9b7433be',0.00018485400000000000247);
CREATE TABLE choice (
    study  TEXT NOT NULL,
    task   TEXT NOT NULL,
    name   TEXT NOT NULL,
    method TEXT NOT NULL,        -- single, loop, untied, linear or constant
    at     REAL,                 -- place on the study's axis
    fit    TEXT,                 -- the selected fit; NULL for linear and constant
    PRIMARY KEY (study, task, name),
    FOREIGN KEY (study, task, fit) REFERENCES fit (study, task, fit)
) STRICT;
INSERT INTO choice VALUES('old','confirmation/bumps/1','single','single',NULL,'single/round-1/start-000');
INSERT INTO choice VALUES('old','confirmation/bumps/1','loop','loop',NULL,'loop/round-1/start-000');
INSERT INTO choice VALUES('old','confirmation/bumps/2','single','single',NULL,'single/round-1/start-000');
INSERT INTO choice VALUES('old','confirmation/bumps/2','loop','loop',NULL,'loop/round-1/start-000');
CREATE TABLE score (
    study  TEXT NOT NULL,
    task   TEXT NOT NULL,
    name   TEXT NOT NULL,
    metric TEXT NOT NULL,
    value  REAL,                 -- NULL if the model gave no finite value
    PRIMARY KEY (study, task, name, metric),
    FOREIGN KEY (study, task, name) REFERENCES choice (study, task, name)
) STRICT;
INSERT INTO score VALUES('old','confirmation/bumps/1','single','MSE against f0',0.0036440913596388190692);
INSERT INTO score VALUES('old','confirmation/bumps/1','loop','MSE against f0',0.0037343838949825828091);
INSERT INTO score VALUES('old','confirmation/bumps/2','single','MSE against f0',0.0039081675225753993371);
INSERT INTO score VALUES('old','confirmation/bumps/2','loop','MSE against f0',0.0040313811352257165887);
CREATE TABLE decision (
    study   TEXT NOT NULL REFERENCES study (name),
    name    TEXT NOT NULL,
    content TEXT NOT NULL,       -- JSON: what the data are, what development settled
    PRIMARY KEY (study, name)
) STRICT;
CREATE TRIGGER no_fit_after_choice BEFORE INSERT ON fit
WHEN EXISTS (SELECT 1 FROM choice WHERE study = NEW.study AND task = NEW.task)
BEGIN SELECT RAISE(ABORT, 'the choices of this task are frozen'); END;
CREATE TRIGGER no_choice_after_score BEFORE INSERT ON choice
WHEN EXISTS (SELECT 1 FROM score WHERE study = NEW.study AND task = NEW.task)
BEGIN SELECT RAISE(ABORT, 'the choices of this task are frozen'); END;
CREATE TRIGGER choices_stay BEFORE UPDATE ON choice
BEGIN SELECT RAISE(ABORT, 'a choice cannot be changed'); END;
CREATE TRIGGER choices_remain BEFORE DELETE ON choice
BEGIN SELECT RAISE(ABORT, 'a choice cannot be taken back'); END;
CREATE TRIGGER fits_stay
BEFORE UPDATE OF study, task, fit, method, spec, stop, validation, best_update, updates, curve, parameters ON fit
BEGIN SELECT RAISE(ABORT, 'a fit cannot be changed'); END;
CREATE TRIGGER fits_remain BEFORE DELETE ON fit
BEGIN SELECT RAISE(ABORT, 'a fit cannot be taken back'); END;
CREATE TRIGGER scores_stay BEFORE UPDATE ON score
BEGIN SELECT RAISE(ABORT, 'a score cannot be changed'); END;
CREATE TRIGGER scores_remain BEFORE DELETE ON score
BEGIN SELECT RAISE(ABORT, 'a score cannot be taken back'); END;
COMMIT;
PRAGMA application_id = 1818653556;
PRAGMA user_version = 1;
