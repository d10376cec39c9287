CREATE TABLE answers (
    "key" VARCHAR(300) NOT NULL,
    request VARCHAR(300) NOT NULL,
    status INTEGER NOT NULL,
    answer BLOB NOT NULL,
    expires DATETIME NOT NULL,
    PRIMARY KEY ("key")
);
CREATE TABLE service_keys (
    name VARCHAR(300) NOT NULL,
    "key" BLOB NOT NULL,
    PRIMARY KEY (name)
);
CREATE TABLE studies (
    seq INTEGER NOT NULL,
    name VARCHAR(300) NOT NULL,
    title VARCHAR(500) NOT NULL,
    created DATETIME NOT NULL,
    max_epsilon_record DOUBLE,
    max_epsilon_column DOUBLE,
    people VARCHAR(300) NOT NULL,
    PRIMARY KEY (seq),
    UNIQUE (name)
);
CREATE TABLE supervisors (
    name VARCHAR(300) NOT NULL,
    host VARCHAR(300) NOT NULL,
    workers INTEGER NOT NULL,
    started DATETIME NOT NULL,
    beat INTEGER NOT NULL,
    seen DATETIME NOT NULL,
    PRIMARY KEY (name)
);
CREATE TABLE invitations (
    seq INTEGER NOT NULL,
    id VARCHAR(300) NOT NULL,
    hash VARCHAR(300) NOT NULL,
    study VARCHAR(300) NOT NULL,
    owner VARCHAR(300) NOT NULL,
    created DATETIME NOT NULL,
    expires DATETIME NOT NULL,
    days INTEGER,
    accepted DATETIME,
    PRIMARY KEY (seq),
    UNIQUE (id),
    FOREIGN KEY(study) REFERENCES studies (name)
);
CREATE INDEX ix_invitations_study ON invitations (study);
CREATE TABLE jobs (
    seq INTEGER NOT NULL,
    id VARCHAR(300) NOT NULL,
    study VARCHAR(300) NOT NULL,
    "key" VARCHAR(300) NOT NULL,
    default_key BOOLEAN NOT NULL,
    spec TEXT NOT NULL,
    releases TEXT NOT NULL,
    state VARCHAR(300) NOT NULL,
    attempt INTEGER NOT NULL,
    broken_off INTEGER NOT NULL,
    progress DOUBLE NOT NULL,
    model VARCHAR(300),
    problem TEXT,
    created DATETIME NOT NULL,
    finished DATETIME,
    records VARCHAR(300),
    estimator VARCHAR(300),
    revision INTEGER NOT NULL,
    predicted_seconds DOUBLE,
    predicted_bytes DOUBLE,
    predicted_factor DOUBLE,
    started DATETIME,
    lease VARCHAR(300),
    beat INTEGER NOT NULL,
    heartbeat DATETIME,
    PRIMARY KEY (seq),
    UNIQUE (study, "key"),
    UNIQUE (id),
    FOREIGN KEY(study) REFERENCES studies (name)
);
CREATE INDEX ix_jobs_state ON jobs (state);
CREATE INDEX ix_jobs_study ON jobs (study);
CREATE TABLE owners (
    seq INTEGER NOT NULL,
    study VARCHAR(300) NOT NULL,
    name VARCHAR(300) NOT NULL,
    joined DATETIME NOT NULL,
    active BOOLEAN NOT NULL,
    PRIMARY KEY (seq),
    UNIQUE (study, name),
    FOREIGN KEY(study) REFERENCES studies (name)
);
CREATE TABLE releases (
    seq INTEGER NOT NULL,
    id VARCHAR(300) NOT NULL,
    study VARCHAR(300) NOT NULL,
    owner VARCHAR(300) NOT NULL,
    name VARCHAR(300) NOT NULL,
    state VARCHAR(300) NOT NULL,
    kind VARCHAR(300) NOT NULL,
    content TEXT NOT NULL,
    content_digest VARCHAR(300) NOT NULL,
    records INTEGER NOT NULL,
    digest VARCHAR(300) NOT NULL,
    created DATETIME NOT NULL,
    sealed DATETIME,
    sealing INTEGER,
    keys_digest VARCHAR(300),
    data_sha256 VARCHAR(300),
    draws TEXT,
    consistency TEXT,
    linkage VARCHAR(300),
    repeated TEXT,
    PRIMARY KEY (seq),
    UNIQUE (study, owner, name),
    UNIQUE (id),
    FOREIGN KEY(study) REFERENCES studies (name),
    UNIQUE (sealing)
);
CREATE INDEX ix_releases_study ON releases (study);
CREATE TABLE study_plans (
    study VARCHAR(300) NOT NULL,
    digest VARCHAR(300) NOT NULL,
    "plan" TEXT NOT NULL,
    agreed DATETIME NOT NULL,
    PRIMARY KEY (study),
    FOREIGN KEY(study) REFERENCES studies (name)
);
CREATE TABLE tokens (
    seq INTEGER NOT NULL,
    id VARCHAR(300) NOT NULL,
    hash VARCHAR(300) NOT NULL,
    role VARCHAR(300) NOT NULL,
    study VARCHAR(300),
    name VARCHAR(300) NOT NULL,
    created DATETIME NOT NULL,
    revoked BOOLEAN NOT NULL,
    expires DATETIME,
    days INTEGER,
    replaces VARCHAR(300),
    last_used DATETIME,
    PRIMARY KEY (seq),
    UNIQUE (id),
    FOREIGN KEY(study) REFERENCES studies (name)
);
CREATE INDEX ix_tokens_study ON tokens (study);
CREATE TABLE job_log (
    seq INTEGER NOT NULL,
    job VARCHAR(300) NOT NULL,
    attempt INTEGER NOT NULL,
    revision INTEGER NOT NULL,
    at DATETIME NOT NULL,
    line TEXT NOT NULL,
    PRIMARY KEY (seq),
    FOREIGN KEY(job) REFERENCES jobs (id)
);
CREATE INDEX ix_job_log_job ON job_log (job);
CREATE TABLE models (
    seq INTEGER NOT NULL,
    id VARCHAR(300) NOT NULL,
    study VARCHAR(300) NOT NULL,
    job VARCHAR(300) NOT NULL,
    kind VARCHAR(300) NOT NULL,
    body TEXT NOT NULL,
    created DATETIME NOT NULL,
    holds_releases BOOLEAN NOT NULL,
    lack_of_fit TEXT,
    PRIMARY KEY (seq),
    UNIQUE (id),
    FOREIGN KEY(study) REFERENCES studies (name),
    FOREIGN KEY(job) REFERENCES jobs (id)
);
CREATE INDEX ix_models_study ON models (study);
CREATE TABLE parts (
    release VARCHAR(300) NOT NULL,
    number INTEGER NOT NULL,
    records INTEGER NOT NULL,
    bytes INTEGER NOT NULL,
    sha256 VARCHAR(300) NOT NULL,
    media VARCHAR(300),
    received DATETIME,
    PRIMARY KEY (release, number),
    FOREIGN KEY(release) REFERENCES releases (id)
);
CREATE INDEX parts_arrived ON parts (release, number) WHERE received IS NOT NULL;
CREATE TABLE alembic_version (
    version_num VARCHAR(32) NOT NULL,
    PRIMARY KEY (version_num)
);
INSERT INTO alembic_version (version_num) VALUES ('7');
PRAGMA user_version=7;
