-- A store as version 2 was written, which did not say who made a fit; old stores must open for ever.
PRAGMA foreign_keys=OFF;
BEGIN TRANSACTION;
CREATE TABLE choice (
    study  TEXT NOT NULL,
    task   TEXT NOT NULL,
    name   TEXT NOT NULL,
    method TEXT NOT NULL,        -- single, loop, untied, linear or constant
    at     REAL,                 -- place on the study's axis
    fit    TEXT,                 -- the selected fit; NULL for linear and constant
    checksum TEXT NOT NULL,
    PRIMARY KEY (study, task, name),
    FOREIGN KEY (study, task, fit) REFERENCES fit (study, task, fit)
) STRICT;
INSERT INTO "choice" VALUES('old','confirmation/bumps/1','loop','loop',NULL,'loop/round-1/start-000','d19a7af27eb8168ea16adc0b33eead3b6decb9f2aed712f8e41665a4acd05cc0');
INSERT INTO "choice" VALUES('old','confirmation/bumps/1','single','single',NULL,'single/round-1/start-000','b25a599956ad088dc18bf55acb6d1d995153e9bac903348d0e738cd59f074cd3');
INSERT INTO "choice" VALUES('old','confirmation/bumps/2','loop','loop',NULL,'loop/round-1/start-000','fd787820f7f0f40bc67fac447404ceef0242c02a585b3aeeccce360e2f479f3b');
INSERT INTO "choice" VALUES('old','confirmation/bumps/2','single','single',NULL,'single/round-1/start-000','608bf59fef41688f33efb1686878f81fd94ec6f244654ca6f43b55269a2d1f03');
CREATE TABLE decision (
    study   TEXT NOT NULL REFERENCES study (name),
    name    TEXT NOT NULL,
    content TEXT NOT NULL,       -- JSON: what the data are, what development settled
    checksum TEXT NOT NULL,
    PRIMARY KEY (study, name)
) STRICT;
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
    seconds     REAL NOT NULL,   -- processor time: what alone may differ between runs
    checksum    TEXT NOT NULL,
    PRIMARY KEY (study, task, fit),
    FOREIGN KEY (study, task) REFERENCES task (study, task)
) STRICT;
INSERT INTO "fit" VALUES('old','confirmation/bumps/1','loop/round-1/start-000','loop','{"bounds":{"coefficient":128.0,"output":8.0},"likelihood":{"kind":"gaussian","sigma":0.7071067811865476},"network":{"architecture":{"kind":"ffn"},"d":2,"outputs":1,"q":2,"r":2,"tying":{"method":"loop","t":16}},"stages":[{"batch":128,"final_rate":0.001,"learning_rate":0.0930721364570537,"optimiser":{"scoring":{"damping":0.11885134938765014,"memory":0.9,"refresh":10,"step_cap":0.1}},"updates":32,"validate_every":50,"weight_decay":{"coupled":0.0}}],"start":{"fresh":{"outgoing_multiplier":0.0625}},"stream":"a1146f44a2b9d6dd","train":"68e8bff87808973931d80a90688e8d6dd926c07ccb80b42de59dfc3eff43659b","valid":"7f9ba9bc35ce0193633a1ff9007949a45a83ec9998b7ec8aa1e5546c8e0c85b2"}','completed',1.78445939219499050132e+00,32,32,'[[0,1.827808956171532],[32,1.7844593921949905]]',X'4A1D90BC2BE6E0BE951089BD9AF7DB3E96875EBEE904AE3C5EC4B2BEFAAA87BE095484BCD1A36BBEBFA42E3FE5D8183FD275B0BB0A04FEBCE4B3043D46875FBDE64A81BDAAEEF2BC56342CBE4FC125BE6DDECBBE',0.000275238,'e3efd15778af1a38a7c2f7e83400fa2354ee4a17831df9edcc7eefd4d48cc72a');
INSERT INTO "fit" VALUES('old','confirmation/bumps/1','single/round-1/start-000','single','{"bounds":{"coefficient":128.0,"output":8.0},"likelihood":{"kind":"gaussian","sigma":0.7071067811865476},"network":{"architecture":{"kind":"ffn"},"d":2,"outputs":1,"q":2,"r":2,"tying":{"method":"single"}},"stages":[{"batch":128,"final_rate":0.001,"learning_rate":0.07149061413866968,"optimiser":{"scoring":{"damping":0.06820624204263176,"memory":0.9,"refresh":10,"step_cap":0.1}},"updates":32,"validate_every":50,"weight_decay":{"coupled":0.0}}],"start":{"fresh":{"outgoing_multiplier":1.0}},"stream":"2539777f9a9fb3a4","train":"68e8bff87808973931d80a90688e8d6dd926c07ccb80b42de59dfc3eff43659b","valid":"7f9ba9bc35ce0193633a1ff9007949a45a83ec9998b7ec8aa1e5546c8e0c85b2"}','completed',1.72941870468684166795e+00,32,32,'[[0,1.7528903060718506],[32,1.7294187046868417]]',X'01F344BC404A14BECA5A383FF10A063FFC9719BD78416C3EA0D9293F25A813BFF8EF7D3EA2C1173FB67930BFB6E4E2BE19A6BB3E4FD113BF158D0CBF84AB2C3F94B75D3BF4B5EABC4B657F3D0A2055BE768A013E',0.000491013,'e826393e6041ff85d2cb6e3d632388e5ba609e02754928b9bf1b1025718cdfb5');
INSERT INTO "fit" VALUES('old','confirmation/bumps/2','loop/round-1/start-000','loop','{"bounds":{"coefficient":128.0,"output":8.0},"likelihood":{"kind":"gaussian","sigma":0.7071067811865476},"network":{"architecture":{"kind":"ffn"},"d":2,"outputs":1,"q":2,"r":2,"tying":{"method":"loop","t":16}},"stages":[{"batch":128,"final_rate":0.001,"learning_rate":0.07149003618874783,"optimiser":{"scoring":{"damping":0.1382336028928009,"memory":0.9,"refresh":10,"step_cap":0.1}},"updates":32,"validate_every":50,"weight_decay":{"coupled":0.0}}],"start":{"fresh":{"outgoing_multiplier":0.0625}},"stream":"b6f8abba6aae0ca3","train":"3c44f3f70ee971c8324ab21c3177fd1fe45edd0bfb02429001d438c32bac1f63","valid":"6382d3b729262c4d70976984ec154a10de73faeb0fdee4cb6e859ca90fda7102"}','completed',9.52758397212608909576e-01,32,32,'[[0,1.0512445287336452],[32,0.9527583972126089]]',X'BF0ACE3EBF242EBE0155323F3FC8853E918C3F3E22CBAABD62661BBF7CF5483E3652FABE11C028BF99AC0C3FF705AB3EDE9CF1BD3EB9813E0568163DEDFD63BE319CC23CF701FD3B403511BF8BC2C03C9B7433BE',0.000184854,'d75330a8245bf067deb6ccee90893b0a511f3bfe76abd3d6663bf867168882a0');
INSERT INTO "fit" VALUES('old','confirmation/bumps/2','single/round-1/start-000','single','{"bounds":{"coefficient":128.0,"output":8.0},"likelihood":{"kind":"gaussian","sigma":0.7071067811865476},"network":{"architecture":{"kind":"ffn"},"d":2,"outputs":1,"q":2,"r":2,"tying":{"method":"single"}},"stages":[{"batch":128,"final_rate":0.001,"learning_rate":0.07635660244577451,"optimiser":{"scoring":{"damping":0.06165271391855228,"memory":0.9,"refresh":10,"step_cap":0.1}},"updates":32,"validate_every":50,"weight_decay":{"coupled":0.0}}],"start":{"fresh":{"outgoing_multiplier":1.0}},"stream":"6c59966120848408","train":"3c44f3f70ee971c8324ab21c3177fd1fe45edd0bfb02429001d438c32bac1f63","valid":"6382d3b729262c4d70976984ec154a10de73faeb0fdee4cb6e859ca90fda7102"}','completed',1.07600075265613770447e+00,32,32,'[[0,1.2391963336377376],[32,1.0760007526561377]]',X'440AFD3D7E8917BF4A5861BEA7243B3FDA0119BFD3513DBFD51E383C13EDD43E8BAFE1BE06D8D53CAE4823BEC4C38B3EB1CCA93CE9169BBEA3302A3FA4341BBE541B523C77A5F2BDDFDCB5BDA270CF3EA7FE883E',0.000223011,'e50de287f530be16f6bee48e99ac5abd4b1eb9c309d124be1fa40f584526ec8d');
CREATE TABLE score (
    study  TEXT NOT NULL,
    task   TEXT NOT NULL,
    name   TEXT NOT NULL,
    metric TEXT NOT NULL,
    value  REAL,                 -- NULL if the model gave no finite value
    checksum TEXT NOT NULL,
    PRIMARY KEY (study, task, name, metric),
    FOREIGN KEY (study, task, name) REFERENCES choice (study, task, name)
) STRICT;
INSERT INTO "score" VALUES('old','confirmation/bumps/1','loop','MSE against f0',3.73438389498258280913e-03,'88cbead3325664a7d1dc68aa08ac3ab298ef1f2c9d0765d6bedd2b2fb67e3604');
INSERT INTO "score" VALUES('old','confirmation/bumps/1','single','MSE against f0',3.64409135963881906927e-03,'60f475ff24cdc1f06033ac981457726ceb52fe6dc94c6448fbe902e6d46d58ab');
INSERT INTO "score" VALUES('old','confirmation/bumps/2','loop','MSE against f0',4.03138113522571658875e-03,'c0fdff414f70b1c1b3a1105d2406b303a32fbf9d5f4467f06ec4f26191748d48');
INSERT INTO "score" VALUES('old','confirmation/bumps/2','single','MSE against f0',3.90816752257539933718e-03,'22479aadac6adb13ace3050f7e5fe63fdcb27b2d22bbcd32040bd1db5e96e145');
CREATE TABLE study (
    name     TEXT PRIMARY KEY,
    hash     TEXT NOT NULL,      -- SHA-256 of the protocol
    protocol TEXT NOT NULL,      -- canonical JSON
    checksum TEXT NOT NULL
) STRICT;
INSERT INTO "study" VALUES('old','fe98d823273050133d2f724eafabcef1a490e9438874215d519de8410da08603','{"title":"Old","question":"","methods":["single","loop"],"seeds":{"first":1,"count":2},"test_splits":[1],"baselines":false,"cases":[{"name":"bumps","data":"sim:bumps","budget":24,"train":32,"valid":32}],"search":{"updates":32,"fan":false,"protocol":{"rungs":[{"fits":1,"share":1.0,"shorten":1}],"shapes":{"count":8},"start":{"outgoing_multiplier":{"factor":1.0,"power":1.0}},"decay":{"none":0.0,"strength":[3.0,60.0],"decoupled":false},"batches":{"size":128},"scoring":{"up_to":256,"learning_rate":[0.07,0.15],"final_rate":0.001,"damping":[0.03,0.15],"step_cap":0.1,"memory":0.9,"refresh":10},"adam":{"learning_rate":[0.004,0.015],"final_rate":0.05,"outgoing_rate":{"factor":1.0,"power":0.5},"gradient_cap":5.0},"refit":false}}}','d521de1b4d98c8942edb06208936aef79a30fb363dbaca4a11a648c91d1b9fd8');
CREATE TABLE tally (
    study    TEXT NOT NULL,
    task     TEXT NOT NULL,
    records  TEXT NOT NULL,      -- fit, choice or score
    count    INTEGER NOT NULL,
    checksum TEXT NOT NULL,
    PRIMARY KEY (study, task, records),
    FOREIGN KEY (study, task) REFERENCES task (study, task)
) STRICT;
INSERT INTO "tally" VALUES('old','confirmation/bumps/1','choice',2,'1b448bbb04d432e54d1c656b154ca08bd7b35c39bbf0c660187ffb6927d1b1b5');
INSERT INTO "tally" VALUES('old','confirmation/bumps/1','fit',2,'912df40f04fbcf432002dd1657868550ca0d50fae966bfcb154b763730743c5f');
INSERT INTO "tally" VALUES('old','confirmation/bumps/1','score',2,'c82d0bdffd49cb9d72ce4d3b16da2fcdbbb73042ad91a05790ed75d844fb6450');
INSERT INTO "tally" VALUES('old','confirmation/bumps/2','choice',2,'11a0f062bb7b5559789966731cf4558dcc0465419849b3d7cf07e2d2bd73f729');
INSERT INTO "tally" VALUES('old','confirmation/bumps/2','fit',2,'80c17f9b1ccd5dd0b236146c480893aa51736f53987ac89538b8d2be6d79bc47');
INSERT INTO "tally" VALUES('old','confirmation/bumps/2','score',2,'42634f5f448db74cb0637c99c392dc5f01146f1ea633dce6c8118f852f95d1a7');
CREATE TABLE task (
    study  TEXT NOT NULL REFERENCES study (name),
    task   TEXT NOT NULL,
    phase  TEXT NOT NULL,        -- development or confirmation
    "case" TEXT NOT NULL,
    split  INTEGER,              -- test split of a table
    seed   INTEGER NOT NULL,
    checksum TEXT NOT NULL,
    PRIMARY KEY (study, task)
) STRICT;
INSERT INTO "task" VALUES('old','confirmation/bumps/1','confirmation','bumps',NULL,1,'2636328f2753a43bd799bb3408ef1a936f1fed42c240794e25cbeb2d854d940f');
INSERT INTO "task" VALUES('old','confirmation/bumps/2','confirmation','bumps',NULL,2,'025b3ca0dad5d16eceb8f90f4158b3d47d65e04fa4bd52a45da68311556b8679');
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
CREATE TRIGGER tallies_stay BEFORE UPDATE ON tally
BEGIN SELECT RAISE(ABORT, 'a tally cannot be changed'); END;
CREATE TRIGGER tallies_remain BEFORE DELETE ON tally
BEGIN SELECT RAISE(ABORT, 'a tally cannot be taken back'); END;
COMMIT;
PRAGMA application_id = 1818653556;
PRAGMA user_version = 2;
