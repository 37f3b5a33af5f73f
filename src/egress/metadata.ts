import {
  type AddressBytes,
  equalBytes,
  inPrefix,
  type Prefix,
  parseAddress,
  parsePrefix,
} from "./address.ts";
import { embeddedV4, NAT64_LENGTHS, nat64V4 } from "./embedded.ts";

/**
 * Instance metadata services hand out the credentials of the machine to whoever can reach them. They are refused
 * in every embedding, and no allow entry or allowed name opens them.
 */
export const METADATA_ADDRESSES: readonly string[] = [
  "169.254.169.254", // AWS, Google Cloud, Azure, OpenStack, DigitalOcean and more
  "169.254.169.253", // AWS resolver
  "169.254.170.2", // AWS ECS task credentials
  "169.254.170.23", // AWS EKS pod identity
  "169.254.42.42", // Scaleway
  "169.254.0.23", // Tencent Cloud
  "100.100.100.200", // Alibaba Cloud
  "192.0.0.192", // Oracle Cloud
  "168.63.129.16", // Azure wire server; lies in public space
  "fd00:ec2::254", // AWS
  "fd00:ec2::253", // AWS resolver
  "fd00:ec2::23", // AWS EKS pod identity
  "fd20:ce::254", // Google Cloud
  "fd00:42::42", // Scaleway
  "fe80::a9fe:a9fe", // OpenStack
];

export const METADATA_NAMES: ReadonlySet<string> = new Set([
  "metadata",
  "metadata.internal",
  "metadata.google.internal",
  "metadata.goog",
  "metadata.azure.internal",
  "metadata.azure.com",
  "metadata.oraclecloud.com",
  "metadata.tencentyun.com",
  "instance-data",
  "instance-data.ec2.internal",
]);

const ADDRESSES: readonly AddressBytes[] = METADATA_ADDRESSES.map((text) => {
  const bytes = parseAddress(text);
  if (bytes === undefined) throw new TypeError(`${text} is not an address`);
  return bytes;
});

const LOCAL_USE_NAT64 = constantPrefix("64:ff9b:1::/48");
const TRANSLATED = constantPrefix("::ffff:0:0:0/96");

/** True for a metadata address itself and for every form that carries one. */
export function isMetadataAddress(bytes: AddressBytes, nat64: readonly Prefix[] = []): boolean {
  const candidates = [bytes, ...embeddedV4(bytes, nat64).map((inside) => inside.v4)];
  // The layout of these two is not known or not in use; each reading that could be meant counts.
  if (inPrefix(bytes, LOCAL_USE_NAT64)) {
    for (const length of NAT64_LENGTHS) if (length >= 48) candidates.push(nat64V4(bytes, length));
  }
  if (inPrefix(bytes, TRANSLATED)) candidates.push(bytes.slice(12));
  return candidates.some((candidate) => ADDRESSES.some((known) => equalBytes(known, candidate)));
}

function constantPrefix(cidr: string): Prefix {
  const prefix = parsePrefix(cidr);
  if (typeof prefix === "string") throw new TypeError(prefix);
  return prefix;
}
