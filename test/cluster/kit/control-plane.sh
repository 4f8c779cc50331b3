#!/bin/sh
# Starts a test cluster: its network, the control plane, DNS, and the nodes on a LAN.
# Must run in new network, mount and process namespaces, so that everything ends with this process. Variables:
#   PROGRAMS  folder of the programs        STATE   folder with config/; receives log/ and process ids
#   NODES     number of nodes               CGROUP  name of the control group in each hierarchy
set -eu
export LIVE="$STATE/live" API=198.19.0.1 DNS=198.18.128.10
services=198.18.128.0/20
debian=$PROGRAMS/root
export PATH="$PROGRAMS/bin:$debian/usr/bin:$debian/usr/sbin:/usr/sbin:/usr/bin:/sbin:/bin"
export LD_LIBRARY_PATH="$debian/usr/lib/x86_64-linux-gnu:$debian/lib/x86_64-linux-gnu"
export XTABLES_LIBDIR="$debian/usr/lib/x86_64-linux-gnu/xtables"

# Moves all processes of the cluster into the control group that limits their CPU time.
echo $$ >"/sys/fs/cgroup/cpu/$CGROUP/cgroup.procs"

# The file system is in memory and disappears with this namespace.
mount -t tmpfs -o size=12g tmpfs "$LIVE"
mkdir "$LIVE/etcd" "$LIVE/pki" "$LIVE/sysctl"

# Shows the kubelet the kernel settings that it requires, without changing those of the machine.
pretend() {
  file="$LIVE/sysctl/$(echo "$1" | tr / .)"
  echo "$2" >"$file"
  mount --bind "$file" "/proc/sys/$1"
}
pretend vm/overcommit_memory 1
pretend vm/panic_on_oom 0
pretend kernel/panic 10
pretend kernel/panic_on_oops 1
pretend kernel/keys/root_maxkeys 1000000
pretend kernel/keys/root_maxbytes 25000000
echo "nameserver $DNS" >"$LIVE/resolv.conf"
mount --bind "$LIVE/resolv.conf" /etc/resolv.conf

# The LAN of the nodes is a bridge, which every kernel supports. The default route serves only addresses of Services,
# which are rewritten; no traffic leaves the machine.
ip link set lo up
ip link add lan0 type bridge
ip addr add "$API/24" dev lan0
ip link set lan0 up
ip route add default dev lan0 src "$API"

etcd --data-dir "$LIVE/etcd" --unsafe-no-fsync --log-level warn \
  --listen-client-urls http://127.0.0.1:2379 --advertise-client-urls http://127.0.0.1:2379 \
  --listen-peer-urls http://127.0.0.1:2380 >"$STATE/log/etcd.log" 2>&1 &

# Restarts the API server when it is killed, like a static pod, unless the file `hold` exists.
(
  while :; do
    if [ ! -e "$STATE/hold" ]; then
      kube-apiserver --etcd-servers=http://127.0.0.1:2379 --secure-port=6443 --bind-address=0.0.0.0 \
        --advertise-address="$API" --cert-dir="$LIVE/pki" --service-cluster-ip-range="$services" \
        --authorization-mode=Node,RBAC --enable-admission-plugins=NodeRestriction --allow-privileged \
        --kubelet-preferred-address-types=InternalIP --token-auth-file="$STATE/config/tokens.csv" \
        --service-account-issuer=https://kubernetes.default.svc.cluster.local \
        --service-account-key-file="$STATE/config/account.key" \
        --service-account-signing-key-file="$STATE/config/account.key" \
        --profiling=false >>"$STATE/log/kube-apiserver.log" 2>&1 || true
    fi
    sleep 0.1
  done
) &

# Connects each node to the LAN once the node has its network namespace.
for n in $(seq "$NODES"); do
  if [ "$n" = 1 ]; then
    unshare --mount --propagation private "$KIT/node.sh" 1 >"$STATE/log/node1.log" 2>&1 &
    continue
  fi
  unshare --net --mount --propagation private "$KIT/node.sh" "$n" >"$STATE/log/node$n.log" 2>&1 &
  node=$!
  while [ "$(readlink "/proc/$node/ns/net")" = "$(readlink /proc/1/ns/net)" ]; do sleep 0.02; done
  ip link add "lan$n" type veth peer name eth0 netns "$node"
  ip link set "lan$n" master lan0
  ip link set "lan$n" up
  ip route add "198.18.$n.0/24" via "198.19.0.$n"
done

until curl -skf -o /dev/null "https://$API:6443/readyz"; do sleep 0.05; done
# Restarts a program whenever it exits. The controller manager and the scheduler exit when they lose their lease during
# an outage of the API server; with their outdated view of the nodes they would otherwise declare every pod lost.
keep() {
  name=$1
  shift
  (while :; do "$name" "$@" >>"$STATE/log/$name.log" 2>&1 || true; sleep 0.2; done) &
}
keep kube-controller-manager --kubeconfig="$STATE/config/manager.kubeconfig" --bind-address=127.0.0.1 \
  --service-account-private-key-file="$STATE/config/account.key" --root-ca-file="$LIVE/pki/apiserver.crt" \
  --use-service-account-credentials
keep kube-scheduler --kubeconfig="$STATE/config/scheduler.kubeconfig" --bind-address=127.0.0.1 \
  --authentication-kubeconfig="$STATE/config/scheduler.kubeconfig" \
  --authorization-kubeconfig="$STATE/config/scheduler.kubeconfig"
cat >"$LIVE/Corefile" <<EOF
.:53 {
  errors
  cache 5
  kubernetes cluster.local {
    kubeconfig $STATE/config/dns.kubeconfig cluster
  }
}
EOF
keep coredns -conf "$LIVE/Corefile"

while :; do
  sleep 3600 &
  wait $!
done
