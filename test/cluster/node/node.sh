#!/bin/bash
# First process of a node, in namespaces of its own (network, mounts, processes, host name). When it ends, all that runs on
# the node ends, and mounts, bridges and iptables rules are gone with it: node.sh FOLDER PROGRAMS ADDRESS GATEWAY
set -u
folder=$1 programs=$2 address=$3 gateway=$4
hostname node-1
# Volumes with mountPropagation need a shared tree.
mount --make-rshared /
mount -t proc proc /proc
# Sockets of containerd and of the network do not mix with those of the machine.
mount -t tmpfs tmpfs /run
mkdir -p /run/lock /run/netns
for each in lib/kubelet lib/containerd lib/cni log/pods log/containers; do
  mkdir -p "$folder/var/$each" "/var/$each"
  mount --bind "$folder/var/$each" "/var/$each"
done
mkdir -p /etc/cni/net.d
mount --bind "$folder/cni" /etc/cni/net.d
# The kubelet sets these for the whole machine, and does not start where it may not: it finds them set.
for pair in vm/overcommit_memory=1 vm/panic_on_oom=0 kernel/panic=10 kernel/panic_on_oops=1 \
  kernel/keys/root_maxkeys=1000000 kernel/keys/root_maxbytes=25000000; do
  file=/run/$(tr / - <<< "${pair%=*}")
  echo "${pair#*=}" > "$file"
  mount --bind "$file" "/proc/sys/${pair%=*}"
done

ip link set lo up
until ip link show eth0 > /dev/null 2>&1; do sleep 0.05; done
ip addr add "$address" dev eth0
ip link set eth0 up
ip route add default via "$gateway"
sysctl -qw net.ipv4.ip_forward=1
sysctl -qw net.bridge.bridge-nf-call-iptables=1 2> /dev/null

start() { "$@" >> "$folder/$(basename "$1").log" 2>&1 & }
start containerd --config "$folder/containerd.toml"
start "$programs/kubelet" --config="$folder/kubelet.json" --kubeconfig="$folder/kubeconfig.json" \
  --hostname-override=node-1 --node-ip="${address%/*}" --cert-dir=/var/lib/kubelet/pki
start "$programs/kube-proxy" --config="$folder/kube-proxy.json"
trap 'exit 0' TERM INT
# This shell reaps what container shims leave behind.
while :; do
  sleep 3600 &
  wait $!
done
