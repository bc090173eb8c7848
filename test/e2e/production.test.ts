import { execFile } from "node:child_process";
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";

import { expect } from "chai";

/** A folder with the contents of the image: the API's sources, and the packages of `npm ci --omit=dev` but for graph-node. */
function productionFolder(): string {
  const dir = mkdtempSync(join(tmpdir(), "production-"));
  cpSync("api", join(dir, "api"), { recursive: true });
  for (const guides of ["docs/tour.md", "docs/api", "docs/operations"])
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
