export declare class HelmUnavailable extends Error {}
export declare function helmBinary(): string;
export declare function zipEntry(zip: Buffer, name: string): Buffer;
