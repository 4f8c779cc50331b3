#!/bin/sh
# Starts one node of a test cluster: containerd, kubelet and kube-proxy, with separate /run, /var/lib and /var/log.
# The first node shares the network of the control plane; control-plane.sh gives each other node an eth0.
set -eu
n=$1
address=198.19.0.$n
home=$LIVE/node$n
mkdir -p "$home/kubelet" "$home/containerd" "$home/cni"
mount -t tmpfs tmpfs /run
for folder in lib log; do
  mkdir "$home/$folder" "$home/$folder-work"
  mount -t overlay overlay -o "lowerdir=/var/$folder,upperdir=$home/$folder,workdir=$home/$folder-work" "/var/$folder"
done

if [ "$n" != 1 ]; then
  until ip link show eth0 >/dev/null 2>&1; do sleep 0.02; done
  ip link set lo up
  ip link set eth0 up
  ip addr add "$address/24" dev eth0
  ip route add default via "$API" src "$address"
  for other in $(seq "$NODES"); do
    [ "$other" = "$n" ] || ip route add "198.18.$other.0/24" via "198.19.0.$other"
  done
fi
echo 1 >/proc/sys/net/ipv4/ip_forward

for hierarchy in /sys/fs/cgroup/*/"$CGROUP"; do mkdir -p "$hierarchy/node$n"; done
# A new cpuset is empty and admits no process.
for file in cpuset.cpus cpuset.mems; do
  cat "/sys/fs/cgroup/cpuset/$CGROUP/$file" >"/sys/fs/cgroup/cpuset/$CGROUP/node$n/$file"
done

# restrict_oom_score_adj: root in a container must not give a process a lower OOM score than its own.
cat >"$home/containerd.toml" <<EOF
version = 2
root = "$home/containerd"
state = "/run/containerd"
[grpc]
  address = "/run/containerd/containerd.sock"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "localhost/pause:1"
  disable_apparmor = true
  restrict_oom_score_adj = true
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "$PROGRAMS/root/usr/lib/cni"
    conf_dir = "$home/cni"
  [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
    runtime_type = "io.containerd.runc.v2"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
      BinaryName = "$PROGRAMS/root/usr/sbin/runc"
EOF
cat >"$home/cni/pods.conflist" <<EOF
{"cniVersion": "0.4.0", "name": "pods", "plugins": [{
  "type": "bridge", "bridge": "pods0", "isGateway": true, "hairpinMode": true, "ipMasq": false,
  "ipam": {"type": "host-local", "dataDir": "/run/cni", "ranges": [[{"subnet": "198.18.$n.0/24"}]],
           "routes": [{"dst": "0.0.0.0/0"}]}}]}
EOF
# Eviction and image collection depend on absolute free space, because the share of free disk space varies by machine.
cat >"$home/kubelet.yaml" <<EOF
apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
cgroupDriver: cgroupfs
cgroupRoot: /$CGROUP/node$n
failSwapOn: false
failCgroupV1: false
containerRuntimeEndpoint: unix:///run/containerd/containerd.sock
authentication: {anonymous: {enabled: true}, webhook: {enabled: false}}
authorization: {mode: AlwaysAllow}
clusterDNS: [$DNS]
clusterDomain: cluster.local
resolvConf: $LIVE/resolv.conf
evictionHard: {memory.available: 100Mi, nodefs.available: 1%, imagefs.available: 1%}
imageGCHighThresholdPercent: 100
imageGCLowThresholdPercent: 99
enforceNodeAllocatable: []
oomScoreAdj: 0
EOF

containerd --config "$home/containerd.toml" >"$STATE/log/containerd$n.log" 2>&1 &
until ctr version >/dev/null 2>&1; do sleep 0.05; done
ctr -n k8s.io images import "$PROGRAMS/pause.tar"
until curl -skf -o /dev/null "https://$API:6443/readyz"; do sleep 0.05; done
kubelet --config="$home/kubelet.yaml" --kubeconfig="$STATE/config/node$n.kubeconfig" --hostname-override="node$n" \
  --node-ip="$address" --root-dir="$home/kubelet" >"$STATE/log/kubelet$n.log" 2>&1 &
kube-proxy --kubeconfig="$STATE/config/proxy.kubeconfig" --hostname-override="node$n" --bind-address="$address" \
  --proxy-mode=iptables --cluster-cidr=198.18.0.0/15 --oom-score-adj=0 --conntrack-max-per-core=0 \
  --conntrack-tcp-timeout-established=0s --conntrack-tcp-timeout-close-wait=0s >"$STATE/log/kube-proxy$n.log" 2>&1 &
# Tests enter the namespaces of this node by its process id.
echo $$ >"$STATE/node$n.pid"
wait
