import { InvalidArgumentError } from "commander";
import type { Command } from "commander";
import { getAddress } from "viem";

import type { Network } from "../../../sdk/src/index.ts";
import { NETWORKS, rpcUrlOf } from "../chains.ts";
import { writeProfile } from "../config/profile.ts";
import { usageFailure } from "../failure.ts";
import { readText } from "../options.ts";
import { facts, text } from "../output/blocks.ts";
import type { Runtime } from "../runtime.ts";
import { DEFAULT_URL } from "../session.ts";
import type { CommonOptions, Session } from "../session.ts";
import { createWallet, findWallet, openWallet, repin } from "../wallet/wallet.ts";
import type { WalletPlace } from "../wallet/wallet.ts";
import { addCommand, does } from "./define.ts";
import { askPassword, placeOf, takesPassword } from "./signing.ts";

interface InitOptions extends CommonOptions {
  url?: string;
  publicUrl?: string;
  name?: string;
  import?: string;
  rpc: Partial<Record<Network, string>>;
  repin?: true;
  passwordFile?: string;
}

type RpcUrls = InitOptions["rpc"];

/** Where a wallet is going to trade. */
interface Place {
  url: string;
  publicUrl?: string | undefined;
  rpcUrls: RpcUrls;
}

/** Adds `init`, which can be run again after it was interrupted. */
export function addInit(program: Command, runtime: Runtime): void {
  const init = takesPassword(addCommand(program, "init", "make or import a wallet, and register it as an agent"))
    .option("--url <url>", `address of the marketplace, by default ${DEFAULT_URL}`)
    .option("--public-url <url>", "address that the marketplace goes by, if it is another")
    .option("--name <name>", "name of the agent, which others see")
    .option("--import <file>", "file with a private key to import, - for standard input; by default a new one is made")
    .option("--rpc <network=url>", "RPC server of a network; may be repeated", addRpcUrl, {})
    .option("--repin", "trust what the marketplace says of its networks now, after you have checked it");
  does<InitOptions>(init, runtime, async (session, options) => {
    const { output, files } = session;
    const url = options.url ?? runtime.environment.url ?? session.profile?.url ?? DEFAULT_URL;
    const place = placeOf(runtime, options);
    if (session.profile !== undefined && options.repin !== true) throw alreadyThere(session);
    const target: Place = { url, publicUrl: options.publicUrl, rpcUrls: rpcUrlsOf(url, options.rpc) };
    const password = await makeOrOpen(session, options, place, target);
    const wallet = await openWallet({ place, password });
    if (wallet.pins.url !== url) throw otherMarketplace(wallet.pins.url, url);
    const [network] = wallet.pins.networks;
    if (network === undefined) throw usageFailure("No network was given an RPC server.", "Add --rpc network=URL.");
    const signer = wallet.walletOn(network.network);
    // Each time: the last attempt may have ended before this, and `npm start -- --fresh` forgets the list.
    if (wallet.pins.isStackWallet) await wallet.market.listStackWallet({ wallet: signer });
    const agentName = options.name ?? `agent-${wallet.address.slice(2, 10).toLowerCase()}`;
    const signingIn = wallet.market.registerOrSignIn({ agentName, wallet: signer });
    const { agentId, apiKey, isNew } = await output.progress("Registering", signingIn);
    const rpcUrls = Object.fromEntries(wallet.pins.networks.map((pin) => [pin.network, pin.rpcUrl]));
    const { publicUrl } = options;
    await writeProfile(files.profile, { version: 1, url, publicUrl, agentId, apiKey, rpcUrls });
    const limits = await wallet.limits();
    const { address } = wallet;
    const isStackWallet = wallet.pins.isStackWallet;
    output.result({ agentId, address, isNew, isStackWallet, profile: files.profile, wallet: place.dir, limits }, () => [
      facts({
        agent: agentId,
        wallet: getAddress(address),
        marketplace: url,
        networks: wallet.pins.networks.map((pin) => pin.network).join(", "),
        profile: files.profile,
        keystore: place.dir,
        limits: `$${limits.perDealUsd} a deal, $${limits.perDayUsd} a day, $${limits.totalUsd} in total`,
      }),
      text(isNew ? "Registered." : "Signed in; the agent was registered before."),
      text("Nobody can restore the wallet without its keystore and its password: keep a copy of both."),
      text(
        isStackWallet
          ? 'Next: agent-marketplace faucet, then agent-marketplace search "what you need"'
          : "Next: send the wallet ether for gas and USDC, then agent-marketplace balance",
      ),
    ]);
    return undefined;
  });
}

/** Makes the wallet, or pins the marketplace of an existing one again. @returns its password */
async function makeOrOpen(session: Session, options: InitOptions, place: WalletPlace, target: Place): Promise<string> {
  const { runtime, output } = session;
  if ((await findWallet(place)) !== undefined) {
    if (options.import !== undefined) {
      throw usageFailure(`There is a wallet in ${place.dir} already.`, "Choose another profile with --profile.");
    }
    const password = await askPassword(runtime, options);
    if (options.repin === true) await repin(place, password, target);
    return password;
  }
  const importedKey =
    options.import === undefined ? undefined : await readText("--import", options.import, runtime.stdin);
  const password = await newPassword(runtime, options);
  await output.progress("Making the wallet", createWallet({ place, password, ...target, importedKey }));
  return password;
}

/** A password that was typed is typed twice. */
async function newPassword(runtime: Runtime, options: InitOptions): Promise<string> {
  const password = await askPassword(runtime, options, "Password for the new wallet: ");
  if ((options.passwordFile ?? runtime.environment.passwordFile) !== undefined) return password;
  if ((await askPassword(runtime, options, "The same again: ")) === password) return password;
  throw usageFailure("The two passwords differ.", "Run the command again.");
}

/** The RPC servers of the networks that were named, or else of all. */
function rpcUrlsOf(url: string, given: RpcUrls): RpcUrls {
  if (Object.keys(given).length > 0) return given;
  return Object.fromEntries(NETWORKS.map((network) => [network, rpcUrlOf(network, url, undefined)]));
}

function addRpcUrl(text: string, others: RpcUrls): RpcUrls {
  const [, network, rpcUrl = ""] = /^([a-z-]+)=(.+)$/.exec(text) ?? [];
  const known = NETWORKS.find((name) => name === network);
  if (known === undefined || !URL.canParse(rpcUrl)) {
    throw new InvalidArgumentError(`must be network=URL, with a network of ${NETWORKS.join(", ")}`);
  }
  return { ...others, [known]: rpcUrl };
}

function alreadyThere({ files, profile }: Session) {
  const message = `The profile ${files.name} is agent ${profile?.agentId ?? ""} at ${profile?.url ?? ""} already.`;
  return usageFailure(message, "Choose another name with --profile, or run `agent-marketplace doctor`.");
}

function otherMarketplace(pinned: string, url: string) {
  const message = `The wallet was made for ${pinned}, not for ${url}.`;
  return usageFailure(message, "Choose another profile with --profile, or add --repin if you trust the other one.");
}
