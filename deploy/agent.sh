#!/bin/sh
# An owner's container: take up the invitation once, then serve the agent.
set -eu
home="${PRAMANA_SITES:-/sites}/sites/$1"
if [ ! -e "$home/.pramana/joined" ]; then
    owner-agent join --secret-file "$home/invitation" --site "$home/site.toml"
    touch "$home/.pramana/joined"
fi
exec owner-agent serve --site "$home/site.toml" --host "${PRAMANA_HOST:-0.0.0.0}" \
    --port "${PRAMANA_PORT:-8100}" --allow-remote
