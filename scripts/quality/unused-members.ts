// Finds methods that nothing calls. knip sees unused exports but not members, and a client, service or repository may keep
// a method long after its last caller has gone.
import { relative } from "node:path";

import ts from "typescript";

const PRODUCT = /^(api|cli|deploy|scripts|sdk|tools)\//;
const CALLERS = /^(api|cli|deploy|scripts|sdk|test|tools)\//;

/** A line for each method of the product that neither product nor tests call. */
export function unusedMembers(program: ts.Program, root: string): string[] {
  const sources = program.getSourceFiles().filter(({ fileName }) => CALLERS.test(relative(root, fileName)));
  /** Methods of classes and interfaces by their declaration. */
  const methods = new Map<ts.Node, string>();
  const collect = (node: ts.Node): void => {
    if (isMethod(node) && ts.isIdentifier(node.name)) methods.set(node, node.name.text);
    ts.forEachChild(node, collect);
  };
  for (const source of sources) {
    if (PRODUCT.test(relative(root, source.fileName))) ts.forEachChild(source, collect);
  }

  const checker = program.getTypeChecker();
  const names = new Set(methods.values());
  /** Names of methods that some expression reads. */
  const called = new Set<string>();
  const visit = (node: ts.Node): void => {
    // A consumer may ask for what it needs by an interface of its own, so a call counts for every method of the name.
    for (const declaration of memberRead(node, names, checker)?.declarations ?? []) {
      const name = methods.get(declaration);
      if (name !== undefined) called.add(name);
    }
    ts.forEachChild(node, visit);
  };
  for (const source of sources) ts.forEachChild(source, visit);

  return [...methods]
    .filter(([, name]) => !called.has(name))
    .map(([node, name]) => {
      const source = node.getSourceFile();
      const { line } = source.getLineAndCharacterOfPosition(node.getStart());
      return `${relative(root, source.fileName)}:${line + 1}: nothing calls ${name}`;
    });
}

function isMethod(node: ts.Node): node is ts.MethodSignature | ts.PropertySignature | ts.MethodDeclaration {
  if (ts.isMethodDeclaration(node)) return ts.isClassDeclaration(node.parent);
  if (!ts.isInterfaceDeclaration(node.parent)) return false;
  if (ts.isPropertySignature(node)) return node.type !== undefined && ts.isFunctionTypeNode(node.type);
  return ts.isMethodSignature(node);
}

/** The symbol of a member that an expression or a pattern reads, when a method has its name. */
function memberRead(node: ts.Node, names: ReadonlySet<string>, checker: ts.TypeChecker): ts.Symbol | undefined {
  if (ts.isPropertyAccessExpression(node)) {
    return names.has(node.name.text) ? checker.getSymbolAtLocation(node.name) : undefined;
  }
  if (!ts.isBindingElement(node) || !ts.isObjectBindingPattern(node.parent)) return undefined;
  const name = node.propertyName ?? node.name;
  if (!ts.isIdentifier(name) || !names.has(name.text)) return undefined;
  return checker.getTypeAtLocation(node.parent).getProperty(name.text);
}
