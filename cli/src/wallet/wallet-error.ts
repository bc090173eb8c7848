/** What went wrong with the wallet on this machine. For programs; the message is for people. */
export type WalletFault =
  | "wrong_password"
  | "password_missing"
  | "invalid_key"
  | "invalid_limits"
  | "wallet_missing"
  | "wallet_exists"
  | "open_to_others"
  | "file_broken"
  | "limits_broken"
  | "pins_broken"
  | "pins_differ"
  | "not_a_stack_wallet"
  | "stack_wallet"
  | "other_chain"
  | "approval_unknown"
  | "approval_ended";

/** An error of the wallet on this machine. It never has a key or a password in it. */
export class WalletError extends Error {
  override readonly name = "WalletError";
  readonly code: WalletFault;
  /** The next step that can help. */
  readonly whatToDo: string;

  constructor(code: WalletFault, message: string, whatToDo: string) {
    super(message);
    this.code = code;
    this.whatToDo = whatToDo;
  }
}
