#!/bin/sh
# Makes the database at the first start, with the user that the environment names, and serves it.
set -eu
data=/var/lib/mysql
value() { # NAME: of the variable, or of the file that NAME_FILE names
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
# A leading option is one of the server's, as with the official image.
exec mariadbd --no-defaults --datadir="$data" --socket=/run/mysqld/mysqld.sock --bind-address=0.0.0.0 \
  --skip-name-resolve --character-set-server=utf8mb4 --init-file="$init" "$@"
