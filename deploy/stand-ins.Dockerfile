# Of the images that a registry would give, what deploy/rehearse.py makes from Debian's packages.

FROM debian:minimal AS python
RUN python3 -m venv /usr/local && ln -sf python3 /usr/local/bin/python
COPY <<"EOF" /etc/pip.conf
[global]
no-index = true
find-links = http://172.17.0.1:8099/
trusted-host = 172.17.0.1
EOF

FROM debian:minimal AS services
RUN --mount=type=bind,target=/debs dpkg --install /debs/*.deb >/dev/null

FROM services AS postgres
ENV PGDATA=/var/lib/postgresql/data PATH=$PATH:/usr/lib/postgresql/17/bin
COPY --chmod=755 <<"EOF" /start
#!/bin/sh -e
as="setpriv --reuid postgres --regid postgres --clear-groups"
install -d -o postgres /var/run/postgresql
if [ ! -e "$PGDATA/PG_VERSION" ]; then
    install -d -o postgres -m 700 "$PGDATA"
    install -o postgres "$POSTGRES_PASSWORD_FILE" /tmp/password
    $as initdb -A scram-sha-256 -U "$POSTGRES_USER" --pwfile /tmp/password "$PGDATA"
    echo 'host all all all scram-sha-256' >> "$PGDATA/pg_hba.conf"
    echo "create database $POSTGRES_DB;" | $as postgres --single -D "$PGDATA" postgres
fi
exec $as postgres -D "$PGDATA" -c listen_addresses='*'
EOF
CMD ["/start"]
