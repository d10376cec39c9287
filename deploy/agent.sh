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

# An invitation can be used once: whoever has the study's token has joined, wherever it was
# interrupted afterwards.
study="$(sed -n "s/^ *study *= *[\"']\([^\"']*\)[\"'].*/\1/p" "$site" | head -n 1)"
if [ ! -e "$home/.pramana/tokens/$study.token" ]; then
    owner-agent join --secret-file "$root/drop/invitation" --site "$site"
fi

# 5: the miner did not answer. Who has published before can serve without it.
if owner-agent publish --yes --site "$site"; then
    touch "$home/published"
else
    code=$?
    [ "$code" -eq 5 ] && [ -e "$home/published" ] || exit "$code"
fi
exec owner-agent serve --site "$site" --port "${PRAMANA_PORT:-8100}"
