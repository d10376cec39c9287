#!/bin/sh
# An owner's container: the steps of docs/owner-guide.md, then the agent. Any number of starts.
#
# "first" makes the linkage secret and hands it over; "other" imports what the first handed over.
set -eu
root="${PRAMANA_ROOT:-}"
home="$root/owner"
site="$home/site.toml"
keys="$home/.pramana/keys"
shared="$root/linkage/shared.key"

# The demonstration draws the table and writes the site file; a custodian has the one and writes
# the other.
if [ ! -e "$site" ]; then
    cp "$root/drop/table.csv" "$home/table.csv"
    cp "$root/drop/site.toml" "$home/site.toml.new"
    mv "$home/site.toml.new" "$site"
fi

[ -e "$keys/draw.key" ] || owner-agent keys create --site "$site"
if [ "$1" = first ]; then
    [ -e "$keys/linkage.key" ] || owner-agent keys create --linkage --site "$site"
    [ -e "$shared" ] || owner-agent keys export linkage "$shared" --site "$site"
else
    [ -e "$keys/linkage.key" ] || owner-agent keys import linkage "$shared" --site "$site"
fi

if [ ! -e "$home/joined" ]; then
    owner-agent join --secret-file "$root/drop/invitation" --site "$site"
    touch "$home/joined"
fi
owner-agent publish --site "$site"
exec owner-agent serve --site "$site" --host "${PRAMANA_HOST:-0.0.0.0}" \
    --port "${PRAMANA_PORT:-8100}" --allow-remote
