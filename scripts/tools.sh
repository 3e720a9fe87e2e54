# Finds the tools that the scripts here need; sourced, never run.
# shellcheck shell=bash

# at_least HAVE WANT: whether version HAVE is WANT or newer.
at_least() {
    [ "$(printf '%s\n%s\n' "$2" "$1" | sort -V | head -n 1)" = "$2" ]
}

# The version of Python at $1 as MAJOR.MINOR, or nothing.
python_version() {
    "$1" -c 'import sys; print("%d.%d" % sys.version_info[:2])' 2>/dev/null || true
}

# Prints the first Python that is new enough; PYTHON overrides. Fails when there is none.
find_python() {
    local candidate version
    for candidate in ${PYTHON:-python3 python3.14 python3.13 python3.12 python3.11}; do
        command -v "$candidate" >/dev/null 2>&1 || continue
        version=$(python_version "$candidate")
        if [ -n "$version" ] && at_least "$version" 3.11; then
            command -v "$candidate"
            return 0
        fi
    done
    return 1
}

# Prints a Chromium that starts; CHROMIUM overrides. Fails when there is none.
find_chromium() {
    local candidate
    for candidate in ${CHROMIUM:-chromium chromium-browser google-chrome google-chrome-stable}; do
        if command -v "$candidate" >/dev/null 2>&1 && "$candidate" --version >/dev/null 2>&1; then
            command -v "$candidate"
            return 0
        fi
    done
    return 1
}

# Installs packages by apt where that needs no password; quiet, and fails where it may not.
apt_install() {
    local as_root=()
    command -v apt-get >/dev/null 2>&1 || return 1
    if [ "$(id -u)" != 0 ]; then
        sudo -n true 2>/dev/null || return 1
        as_root=(sudo -n)
    fi
    echo "   installing $* by apt-get"
    local quiet=(env DEBIAN_FRONTEND=noninteractive apt-get -qq -y)
    "${as_root[@]}" "${quiet[@]}" install --no-install-recommends "$@" >/dev/null 2>&1 && return 0
    # A fresh machine has no package lists yet.
    "${as_root[@]}" "${quiet[@]}" update >/dev/null 2>&1 || return 1
    "${as_root[@]}" "${quiet[@]}" install --no-install-recommends "$@" >/dev/null 2>&1
}

# has_script NAME: whether web/package.json has such a script.
has_script() {
    [ -f web/package.json ] && grep -Eq "^[[:space:]]*\"$1\"[[:space:]]*:" web/package.json
}
