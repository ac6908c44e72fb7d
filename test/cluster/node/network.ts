/** Addresses of the node and of what runs on it. They are reached from this machine only. */
export const NETWORK = {
  /** Ends of the cable between this machine and the node. */
  link: "tradewind0",
  nodeLink: "tradewind1",
  machine: "10.242.0.1",
  node: "10.242.0.2",
  pods: "10.240.0.0/16",
  services: "10.241.0.0/16",
  dns: "10.241.0.10",
} as const;
