CREATE TABLE studies (
    seq INTEGER NOT NULL,
    name VARCHAR(300) NOT NULL,
    title VARCHAR(500) NOT NULL,
    created DATETIME NOT NULL,
    PRIMARY KEY (seq),
    UNIQUE (name)
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
    PRIMARY KEY (seq),
    UNIQUE (id),
    FOREIGN KEY(study) REFERENCES studies (name)
);
CREATE INDEX ix_tokens_study ON tokens (study);
CREATE TABLE invitations (
    seq INTEGER NOT NULL,
    id VARCHAR(300) NOT NULL,
    hash VARCHAR(300) NOT NULL,
    study VARCHAR(300) NOT NULL,
    owner VARCHAR(300) NOT NULL,
    created DATETIME NOT NULL,
    expires DATETIME NOT NULL,
    accepted DATETIME,
    PRIMARY KEY (seq),
    UNIQUE (id),
    FOREIGN KEY(study) REFERENCES studies (name)
);
CREATE INDEX ix_invitations_study ON invitations (study);
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
    "plan" TEXT NOT NULL,
    plan_digest VARCHAR(300) NOT NULL,
    records INTEGER NOT NULL,
    digest VARCHAR(300) NOT NULL,
    created DATETIME NOT NULL,
    sealed DATETIME,
    sealing INTEGER,
    keys_digest VARCHAR(300),
    data_sha256 VARCHAR(300),
    PRIMARY KEY (seq),
    UNIQUE (study, owner, name),
    UNIQUE (id),
    FOREIGN KEY(study) REFERENCES studies (name),
    UNIQUE (sealing)
);
CREATE INDEX ix_releases_study ON releases (study);
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
    PRIMARY KEY (seq),
    UNIQUE (study, "key"),
    UNIQUE (id),
    FOREIGN KEY(study) REFERENCES studies (name)
);
CREATE INDEX ix_jobs_study ON jobs (study);
CREATE INDEX ix_jobs_state ON jobs (state);
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
CREATE TABLE models (
    seq INTEGER NOT NULL,
    id VARCHAR(300) NOT NULL,
    study VARCHAR(300) NOT NULL,
    job VARCHAR(300) NOT NULL,
    body TEXT NOT NULL,
    bif TEXT NOT NULL,
    created DATETIME NOT NULL,
    PRIMARY KEY (seq),
    UNIQUE (id),
    FOREIGN KEY(study) REFERENCES studies (name),
    FOREIGN KEY(job) REFERENCES jobs (id)
);
CREATE INDEX ix_models_study ON models (study);
PRAGMA user_version=1;
