#!/bin/sh
# Knows a cluster from its first process on: a network of its own, the control plane, names, and a LAN with nodes.
# Run in new network, mount and process namespaces, so that all of it ends with this process. Takes
#   PROGRAMS  folder of the programs        STATE   folder with config/, for log/ and for what is known outside
#   NODES     how many                      CGROUP  name below each hierarchy
set -eu
export LIVE="$STATE/live" API=198.19.0.1 DNS=198.18.128.10
services=198.18.128.0/20
debian=$PROGRAMS/root
export PATH="$PROGRAMS/bin:$debian/usr/bin:$debian/usr/sbin:/usr/sbin:/usr/bin:/sbin:/bin"
export LD_LIBRARY_PATH="$debian/usr/lib/x86_64-linux-gnu:$debian/lib/x86_64-linux-gnu"
export XTABLES_LIBDIR="$debian/usr/lib/x86_64-linux-gnu/xtables"

# All of it gets the processor time of the group, pods and what looks after them.
echo $$ >"/sys/fs/cgroup/cpu/$CGROUP/cgroup.procs"

# In memory, and gone with this namespace.
mount -t tmpfs -o size=12g tmpfs "$LIVE"
mkdir "$LIVE/etcd" "$LIVE/pki" "$LIVE/sysctl"

# What a kubelet insists on for the whole machine is here already, as far as it can see: the machine keeps its own.
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

# The LAN of the nodes is a bridge, for which each kernel has a driver. The default route only leads to the addresses
# of Services, which are rewritten on the way: there is no way out.
ip link set lo up
ip link add lan0 type bridge
ip addr add "$API/24" dev lan0
ip link set lan0 up
ip route add default dev lan0 src "$API"

etcd --data-dir "$LIVE/etcd" --unsafe-no-fsync --log-level warn \
  --listen-client-urls http://127.0.0.1:2379 --advertise-client-urls http://127.0.0.1:2379 \
  --listen-peer-urls http://127.0.0.1:2380 >"$STATE/log/etcd.log" 2>&1 &

# Comes back when it is killed, as a static pod would, unless it is held.
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

# The network of a node is made from here, once the node has one.
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
# Each asks anew when the API server is gone for a while, or comes back with the next turn. The first two end then, since
# they no longer lead: one that went on would take its old knowledge of nodes for the truth, and every pod for lost.
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
