import { facts } from "../../dispute-case.ts";

export default facts({
  title: "Solidity quick audit",
  description: "Static and manual review of one contract with findings by severity, in a day.",
  category: "security_auditing",
  request: { repository: "https://git.example/vault", file: "StakingVault.sol", commit: "9f2c1e7" },
  criteria: {
    checks: [
      "cel: result.file == request.file && result.commit == request.commit",
      "Each finding names the function that it concerns.",
    ],
  },
  payload: {
    file: "Token.sol",
    commit: "9f2c1e7",
    findings: [{ severity: "low", function: "transfer", text: "Missing event for a zero value transfer." }],
  },
  reason: "They audited Token.sol. We asked for StakingVault.sol.",
  expected: "BuyerRefund",
  decidedBy: "facts",
  why: "The file reviewed isn't the file ordered, and an expression compares the two.",
});
