# shellcheck shell=sh
# Read by the scripts: what they need to talk, and to install what is missing.

say() {
    printf '== %s\n' "$*" >&2
}

fail() {
    printf '%s: %s\n' "$0" "$*" >&2
    exit 2
}

# install_packages PACKAGE...: asks the network only if one of them is missing.
install_packages() {
    if ! command -v dpkg-query >/dev/null; then
        say "no dpkg on this system: taking for granted what Debian 12 calls $*"
        return
    fi
    missing=
    for package; do
        case $(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null) in
        installed) ;;
        *) missing="$missing $package" ;;
        esac
    done
    if [ -z "$missing" ]; then
        say "all packages are installed"
        return
    fi
    say "installing$missing"
    as_root=
    if [ "$(id -u)" -ne 0 ]; then
        command -v sudo >/dev/null || fail "not root and no sudo; as root: apt-get install$missing"
        as_root=sudo
    fi
    # shellcheck disable=SC2086 # a list of words
    {
        $as_root apt-get update -q &&
            $as_root env DEBIAN_FRONTEND=noninteractive \
                apt-get install -q -y --no-install-recommends $missing
    } >&2 || fail "could not install$missing (the names are those of Debian 12)"
}
