import { execFile } from "node:child_process";
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";

import { expect } from "chai";

import { findMongo } from "../../scripts/local/mongo.ts";
import { CACHE_DIR } from "../../scripts/local/paths.ts";
import { testVariables } from "../fixtures/environment.ts";
import { outputOf } from "../fixtures/output-of.ts";

/** A folder with the contents of the image: the API's sources, and the packages of `npm ci --omit=dev` but for graph-node. */
function productionFolder(): string {
  const dir = mkdtempSync(join(tmpdir(), "production-"));
  for (const sources of ["api", "sdk/package.json", "sdk/src", "tools/package.json", "tools/src"])
    cpSync(sources, join(dir, sources), { recursive: true });
  for (const guides of ["docs/first-agent.md", "docs/tour.md", "docs/api", "docs/operations"])
    cpSync(guides, join(dir, guides), { recursive: true });
  cpSync("package.json", join(dir, "package.json"));
  const { packages } = JSON.parse(readFileSync("package-lock.json", "utf8")) as {
    packages: Record<string, { dev?: boolean; devOptional?: boolean }>;
  };
  const installed = Object.entries(packages).filter(
    ([path, { dev, devOptional }]) =>
      /^node_modules\/(@[^/]+\/)?[^/]+$/.test(path) &&
      ![dev, devOptional].includes(true) &&
      !path.includes("/@graphprotocol/gnd-") &&
      // Optional packages of other platforms aren't there.
      existsSync(path),
  );
  for (const [path] of installed) {
    mkdirSync(dirname(join(dir, path)), { recursive: true });
    symlinkSync(resolve(path), join(dir, path));
  }
  return dir;
}

/** Nothing listens there: a process that ends for its encoder hasn't looked for anything else. */
const NOWHERE = { rpcUrl: "http://127.0.0.1:9", subgraphUrl: "http://127.0.0.1:9" };
const COMPLETE = {
  ...testVariables({
    mongodbUri: "",
    networks: { "base-sepolia": NOWHERE, base: NOWHERE },
    deployments: { "base-sepolia": "none.json", base: "none.json" },
  }),
  MONGODB_URI: "mongodb://127.0.0.1:9/market?replicaSet=rs0",
};

/** Damages a production folder; returns what mends it. */
const DAMAGES: Readonly<Record<string, { message: string; damage: (dir: string) => () => void }>> = {
  "a byte of the encoder's files is wrong": {
    message: "sp.model has the SHA-256",
    damage(dir) {
      const path = join(dir, "api/search/encoder/sp.model");
      const right = readFileSync(path);
      const wrong = Buffer.from(right);
      wrong.writeUInt8(wrong.readUInt8(1_000) ^ 1, 1_000);
      writeFileSync(path, wrong);
      return () => {
        writeFileSync(path, right);
      };
    },
  },
  "the encoder's runtime doesn't load": {
    message: `doesn't load on ${process.platform} ${process.arch}`,
    damage(dir) {
      const path = join(dir, "node_modules/onnxruntime-node");
      renameSync(path, `${path}-away`);
      return () => {
        renameSync(`${path}-away`, path);
      };
    },
  },
};

/** Brings up the loopback of a network namespace. `ip` isn't everywhere; Python is required anyway. */
const LOOPBACK_UP = `python3 -c 'import fcntl, socket, struct
fcntl.ioctl(socket.socket(), 0x8914, struct.pack("16sH14s", b"lo", 0x41, b""))'`;

/** The arguments by which `unshare` gives a process a network of its own; undefined if this machine doesn't allow it. */
async function findNamespace(): Promise<string[] | undefined> {
  for (const flags of [
    ["--user", "--map-root-user", "--net"],
    // For root where users have no namespaces.
    ["--net"],
  ]) {
    const error = await new Promise((done) => {
      execFile("unshare", [...flags, "sh", "-c", LOOPBACK_UP], { timeout: 20_000 }, done);
    });
    if (error === null) return flags;
  }
  return undefined;
}

describe("a production install", () => {
  let dir: string;
  before(() => {
    dir = productionFolder();
  });
  after(() => {
    rmSync(dir, { recursive: true, force: true });
  });

  it("holds the search engine, which both load when they need it", async () => {
    const script = 'const { Index } = await import("@lancedb/lancedb"); console.log(typeof Index.fts);';
    const output = await new Promise<string>((done) => {
      const args = ["--input-type=module", "--eval", script];
      execFile(process.execPath, args, { cwd: dir, env: {} }, (_error, stdout, stderr) => {
        done(stdout + stderr);
      });
    });
    expect(output).to.equal("function\n");
  });

  it("holds the guides that the API serves", async () => {
    const script = `
      const { docsModule } = await import("./api/features/docs/module.ts");
      const { guides } = docsModule.create({}).services;
      console.log(guides.list().every(({ name }) => guides.read(name).html.includes("<h1 ")), guides.list().length > 30);`;
    const output = await new Promise<string>((done) => {
      const args = ["--input-type=module", "--eval", script];
      execFile(process.execPath, args, { cwd: dir, env: {} }, (_error, stdout, stderr) => {
        done(stdout + stderr);
      });
    });
    expect(output).to.equal("true true\n");
  });

  it("embeds texts without anything but its files", async () => {
    const script = `
      const { loadPair } = await import("./api/search/embedding/pair.ts");
      const { vector } = await (await loadPair())("translate my contract", "query");
      console.log(vector.length);`;
    const output = await new Promise<string>((done) => {
      const args = ["--input-type=module", "--eval", script];
      execFile(process.execPath, args, { cwd: dir, env: {} }, (_error, stdout, stderr) => {
        done(stdout + stderr);
      });
    });
    expect(output).to.equal("896\n");
  });

  it("starts API and worker in a network namespace with loopback alone, and finds a listing by meaning", async function () {
    const flags = await findNamespace();
    if (flags === undefined) {
      console.log("skipped: this machine gives no process a network namespace");
      this.skip();
    }
    const mongo = await findMongo(CACHE_DIR, { PATH: process.env["PATH"] }, () => undefined);
    const data = mkdtempSync(join(tmpdir(), "alone-"));
    try {
      if (mongo.kind !== "binary") throw new Error(mongo.kind);
      const program = [process.execPath, "test/e2e/support/start-alone.ts", dir, mongo.path, data];
      const script = `${LOOPBACK_UP} && exec "$@"`;
      const output = await outputOf("unshare", [...flags, "sh", "-c", script, "sh", ...program], "", {
        timeoutMs: 200_000,
      });
      const { networks, listed, first } = JSON.parse(output) as {
        networks: string[];
        listed: string;
        first: { id: string; explanation: { meaning: number } };
      };
      expect(networks).to.deep.equal(["lo"]);
      expect(first.id).to.equal(listed);
      expect(first.explanation.meaning).to.be.above(0.13);
    } finally {
      rmSync(data, { recursive: true, force: true });
    }
  });

  for (const [when, { message, damage }] of Object.entries(DAMAGES)) {
    for (const main of ["api/server.ts", "api/worker.ts"]) {
      it(`ends ${main} at once if ${when}, with one line that says so`, async () => {
        const mend = damage(dir);
        try {
          const { code, output } = await new Promise<{ code: number | null; output: string }>((done) => {
            const options = { cwd: dir, env: COMPLETE, timeout: 60_000, killSignal: "SIGKILL" } as const;
            const child = execFile(process.execPath, [main], options, (_error, stdout, stderr) => {
              done({ code: child.exitCode, output: stdout + stderr });
            });
          });
          expect(code, output).to.equal(1);
          const lines = output.trim().split("\n");
          expect(lines, output).to.have.length(1);
          expect((JSON.parse(lines[0] ?? "") as { msg: string }).msg).to.include(message);
        } finally {
          mend();
        }
      });
    }
  }

  for (const main of ["api/server.ts", "api/worker.ts"]) {
    it(`holds every file and package that ${main} loads`, async () => {
      const { code, output } = await new Promise<{ code: number | null; output: string }>((done) => {
        const child = execFile(process.execPath, [main], { cwd: dir, env: {} }, (_error, stdout, stderr) => {
          done({ code: child.exitCode, output: stdout + stderr });
        });
      });
      // Without its environment the process exits with an error, after it has loaded everything.
      expect(code, output).to.equal(1);
      expect(output).to.match(/MONGODB_URI is missing/);
      expect(output).not.to.match(/ERR_MODULE_NOT_FOUND/);
    });
  }
});
