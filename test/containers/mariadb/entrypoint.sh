#!/bin/sh
# Creates the database and its user at the first start, as named by the environment, and runs the server.
set -eu
data=/var/lib/mysql
value() { # Prints the variable NAME, or the content of the file in NAME_FILE
  eval "file=\${$1_FILE:-}"
  if [ -n "$file" ]; then cat "$file"; else eval "printf %s \"\${$1:-}\""; fi
}
quoted() { printf %s "$1" | sed "s/\\\\/\\\\\\\\/g; s/'/\\\\'/g"; }

init=/tmp/init.sql
: >"$init"
if [ ! -d "$data/mysql" ]; then
  mariadb-install-db --no-defaults --datadir="$data" --auth-root-authentication-method=normal --skip-test-db --skip-name-resolve >/dev/null
  root=$(value MARIADB_ROOT_PASSWORD)
  [ -n "$root" ] || root=$(tr -dc a-z0-9 </dev/urandom | head -c 32)
  {
    echo "DELETE FROM mysql.global_priv WHERE User = 'root' AND Host NOT IN ('localhost');"
    echo "FLUSH PRIVILEGES;"
    echo "ALTER USER root@localhost IDENTIFIED BY '$(quoted "$root")';"
    echo "CREATE USER root@'%' IDENTIFIED BY '$(quoted "$root")';"
    echo "GRANT ALL ON *.* TO root@'%' WITH GRANT OPTION;"
    if [ -n "${MARIADB_DATABASE:-}" ]; then echo "CREATE DATABASE IF NOT EXISTS \`$MARIADB_DATABASE\`;"; fi
    if [ -n "${MARIADB_USER:-}" ]; then
      echo "CREATE USER '$(quoted "$MARIADB_USER")'@'%' IDENTIFIED BY '$(quoted "$(value MARIADB_PASSWORD)")';"
      echo "GRANT ALL ON \`${MARIADB_DATABASE:-mysql}\`.* TO '$(quoted "$MARIADB_USER")'@'%';"
    fi
  } >"$init"
fi
# Arguments are options of the server, as in the official image.
exec mariadbd --no-defaults --datadir="$data" --socket=/run/mysqld/mysqld.sock --bind-address=0.0.0.0 \
  --skip-name-resolve --character-set-server=utf8mb4 --init-file="$init" "$@"
