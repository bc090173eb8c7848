import { execFile } from "node:child_process";

import { assert } from "chai";

import type { TransactionRecord } from "../../../api/features/transactions/model.ts";
import { readStack } from "../../fixtures/api.ts";
import { inheritedVariables } from "../../fixtures/environment.ts";
import { bytes32, created, FollowerBench } from "../../fixtures/follower.ts";

/** The result of a command. */
interface Ended {
  code: number | null;
  stdout: string;
  stderr: string;
}

describe("the command for quarantined escrows", () => {
  let bench: FollowerBench;
  let mongodbUri: string;

  before(async () => {
    bench = await FollowerBench.open();
    const uri = new URL((await readStack()).mongodbUri);
    uri.pathname = `/${bench.connection.name}`;
    mongodbUri = uri.href;
  });
  after(() => bench.close());
  beforeEach(() => bench.reset());

  function command(args: readonly string[], env: Record<string, string> = { MONGODB_URI: mongodbUri }): Promise<Ended> {
    return new Promise((resolve) => {
      const options = { env: { ...inheritedVariables(), ...env } };
      const child = execFile(
        process.execPath,
        ["api/commands/quarantine.ts", ...args],
        options,
        (_error, stdout, stderr) => {
          resolve({ code: child.exitCode, stdout, stderr });
        },
      );
    });
  }

  /** Checkouts whose funding is on chain but can't be announced, because their stored request isn't JSON. */
  async function quarantined(count: number): Promise<TransactionRecord[]> {
    const records = await bench.checkouts(count, { requestPayloadJson: "{" });
    for (const record of records) bench.indexer.mine([created(record)]);
    await bench.follower().step();
    assert.strictEqual(await bench.models.quarantine.countDocuments(), count);
    return records;
  }

  const heal = ({ _id }: TransactionRecord) => bench.transactions.updateOne({ _id }, { requestPayloadJson: "{}" });

  /** The result of a command while a follower runs, as in a worker. */
  async function besideFollower(args: readonly string[]): Promise<Ended> {
    const ending = new AbortController();
    const running = bench.follower().run(ending.signal);
    const ended = await command(args);
    ending.abort();
    await running;
    return ended;
  }

  it("lists every one of them with its error, for people and for programs", async () => {
    assert.match((await command([])).stdout, /^No escrow is in quarantine\.$/m);
    const records = await quarantined(2);
    const listed = await command(["list"]);
    assert.strictEqual(listed.code, 0, listed.stderr);
    for (const { escrowId } of records) assert.include(listed.stdout, `base-sepolia ${escrowId}\n`);
    assert.match(listed.stdout, /1 attempt, next at .*\n {2}SyntaxError: /);
    const { quarantined: asJson } = JSON.parse((await command(["--json"])).stdout);
    assert.sameMembers(
      asJson.map(({ escrowId }: { escrowId: string }) => escrowId),
      records.map(({ escrowId }) => escrowId),
    );
    assert.match(asJson[0].error.stack, /SyntaxError.*\n +at /);
    assert.deepEqual(JSON.parse((await command(["--network", "base", "--json"])).stdout), { quarantined: [] });
  });

  it("retries one of them at once and reports that it was released", async () => {
    const [one, other] = await quarantined(2);
    assert.ok(one !== undefined && other !== undefined);
    await Promise.all([heal(one), heal(other)]);
    const retried = await besideFollower(["retry", one.escrowId.toUpperCase().replace("0X", "0x")]);
    assert.deepEqual([retried.code, retried.stdout], [0, `base-sepolia ${one.escrowId}: released\n`], retried.stderr);
    assert.strictEqual((await bench.read(one)).status, "funded");
    assert.strictEqual((await bench.read(other)).status, "pending_funding", "it isn't due yet");
  });

  it("retries all of them, and fails with the error of each that stays", async () => {
    const [well, ill] = await quarantined(2);
    assert.ok(well !== undefined && ill !== undefined);
    await heal(well);
    const retried = await besideFollower(["retry", "--all", "--json"]);
    assert.strictEqual(retried.code, 1, retried.stderr);
    const { released, failed, waiting } = JSON.parse(retried.stdout);
    assert.deepEqual(released, [{ network: "base-sepolia", escrowId: well.escrowId }]);
    assert.deepEqual([failed.length, failed[0].escrowId, failed[0].attempts], [1, ill.escrowId, 2]);
    assert.strictEqual(failed[0].error.name, "SyntaxError");
    assert.deepEqual(waiting, []);
  });

  it("reports when no worker retries them, and doesn't wait when told not to", async () => {
    const [record] = await quarantined(1);
    assert.ok(record !== undefined);
    const unheard = await command(["retry", record.escrowId, "--wait", "1"]);
    assert.strictEqual(unheard.code, 1);
    assert.match(unheard.stderr, /^1 not retried within 1 s: is a worker running/);
    assert.strictEqual((await command(["retry", record.escrowId, "--wait", "0"])).code, 0);
    await heal(record);
    await bench.follower().step();
    assert.strictEqual((await bench.read(record)).status, "funded");
  });

  it("retries nothing when one of the escrows isn't in quarantine", async () => {
    const [record] = await quarantined(1);
    assert.ok(record !== undefined);
    const before = await bench.models.quarantine.find().lean();
    const stranger = bytes32();
    const refused = await command(["retry", record.escrowId, stranger]);
    assert.strictEqual(refused.code, 1);
    assert.include(refused.stderr, `Not in quarantine, so nothing was retried:\n  ${stranger}\n`);
    assert.deepEqual(await bench.models.quarantine.find().lean(), before);
  });

  const mistakes: [args: string[], fault: RegExp][] = [
    [["free"], /^"free" is neither list nor retry\./],
    [["retry"], /^retry needs escrow ids or --all\./],
    [["retry", "--all", bytes32()], /^retry takes escrow ids or --all, not both\./],
    [["list", "--all"], /^list takes no escrow ids and no --all\./],
    [["retry", "0x12"], /^"0x12" isn't an escrow id/],
    [["--network", "ethereum"], /^--network must be base-sepolia or base, not "ethereum"\./],
    [["retry", "--all", "--wait", "soon"], /^--wait must be a whole number from 0 to 3600, not "soon"\./],
    [["--sideways"], /^Unknown option '--sideways'\./],
  ];
  it("refuses wrong arguments with code 2, the fault and the help", async () => {
    const ended = mistakes.map(async ([args, fault]) => ({ args, fault, ...(await command(args, {})) }));
    for (const { args, fault, code, stderr } of await Promise.all(ended)) {
      assert.strictEqual(code, 2, args.join(" "));
      assert.match(stderr, fault);
      assert.match(stderr, /^usage: npm run quarantine -- \[/m);
    }
  });

  it("names the variable when the database is missing or can't be reached, without a stack trace", async () => {
    const [unset, unreachable] = await Promise.all([
      command([], {}),
      command([], { MONGODB_URI: "mongodb://127.0.0.1:1/marketplace" }),
    ]);
    for (const [{ code, stderr }, fault] of [
      [unset, /MONGODB_URI is missing/],
      [unreachable, /^MONGODB_URI: no MongoDB answers there$/m],
    ] as const) {
      assert.strictEqual(code, 1);
      assert.match(stderr, fault);
      assert.notMatch(stderr, /^ +at /m);
    }
  });
});
