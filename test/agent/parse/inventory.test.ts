import { Inventory } from "@tradewind/core/contract/snapshot.ts";
import { cacheBytesOf, disksOf, hardwareOf, hertzOf } from "@tradewind/agent/parse/inventory.ts";
import { describe, expect, it } from "vitest";

/** What systeminformation 5 answered there, without the fields that nobody reads. */
const MACHINES = [
  {
    machine: "a virtual machine of Firecracker on AMD",
    cpu: { manufacturer: "AMD", brand: "EPYC", vendor: "AMD", family: "25", model: "17", cores: 2 },
    networkInterfaces: [
      { iface: "lo", internal: true, speed: null },
      { iface: "eth0", internal: false, speed: -1 },
    ],
    inventory: {
      cpuModel: "AMD EPYC",
      cpuVendor: "AMD",
      cpuFamily: "25/17",
      cpuCores: 2,
      networkInterfaces: [{ name: "eth0" }],
    },
  },
  {
    machine: "bare metal with a bond of two links, one of them down",
    cpu: {
      manufacturer: "Intel®",
      brand: "Xeon® Gold 6248",
      vendor: "GenuineIntel",
      family: "6",
      model: "85",
      cores: 80,
    },
    networkInterfaces: [
      { iface: "ens1f0", internal: false, speed: 25_000 },
      { iface: "ens1f1", internal: false, speed: null },
      { iface: "bond0", internal: false, speed: 25_000 },
    ],
    inventory: {
      cpuModel: "Intel® Xeon® Gold 6248",
      cpuVendor: "GenuineIntel",
      cpuFamily: "6/85",
      cpuCores: 80,
      networkInterfaces: [
        { name: "ens1f0", bytesPerSecond: 3.125e9 },
        { name: "ens1f1" },
        { name: "bond0", bytesPerSecond: 3.125e9 },
      ],
    },
  },
  {
    machine: "a hardened image without lscpu and shells",
    cpu: { manufacturer: "", brand: "unknown", vendor: "Not defined", family: "", model: "", cores: 0 },
    networkInterfaces: [],
    inventory: {},
  },
  {
    machine: "a platform that the library does not know",
    cpu: null,
    networkInterfaces: "",
    inventory: {},
  },
];

describe("the hardware as systeminformation shows it", () => {
  it.each(MACHINES)("$machine", ({ cpu, inventory, networkInterfaces }) => {
    const found = hardwareOf({ cpu, networkInterfaces });
    expect(found).toEqual(inventory);
    expect(Inventory.parse(found)).toEqual(inventory);
  });
});

describe("whole disks and their class", () => {
  it.each([
    ["nvme0n1", "0\n", "nvme"],
    ["sda", "0\n", "ssd"],
    ["sdb", "1\n", "hdd"],
    // A hypervisor that says nothing better lets paravirtual disks pass for rotating ones.
    ["vda", "1\n", "unknown"],
    ["xvda", "1\n", "unknown"],
    ["vdb", "0\n", "ssd"],
    ["sdc", undefined, "unknown"],
  ])("%s with queue/rotational %j is %s", (name, rotational, kind) => {
    expect(disksOf([{ name, rotational }])).toEqual([{ name, kind }]);
  });

  it("leaves out what is no disk: loop, ram and compressed memory, mapped and assembled devices, optical drives", () => {
    const names = ["loop0", "ram0", "zram0", "dm-0", "md127", "sr0", "fd0", "nbd0"];
    expect(disksOf(names.map((name) => ({ name, rotational: "0" })))).toEqual([]);
  });
});

describe("clocks and caches as sysfs states them", () => {
  it.each([
    ["2400000\n", 2.4e9],
    ["0\n", undefined],
    ["<unknown>\n", undefined],
    [undefined, undefined],
  ])("a clock of %j kilohertz is %j hertz", (content, hertz) => {
    expect(hertzOf(content)).toBe(hertz);
  });

  it.each([
    [["32K\n", "32K\n", "1024K\n", "32768K\n"], 32_768 * 1_024],
    [["16M\n"], 16 * 2 ** 20],
    [["many\n", undefined], undefined],
    [[], undefined],
  ])("of caches %j the largest has %j bytes", (sizes, bytes) => {
    expect(cacheBytesOf(sizes)).toBe(bytes);
  });
});
