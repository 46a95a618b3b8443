// Pinocchio's recursions over CasADi's symbols, written as C by CasADi: the peer of exported C.
//   exports_peer MODEL.txt DIRECTORY     (a model of Model.saveToText; pin_inverse.c and pin_forward.c are written)
#include <pinocchio/autodiff/casadi.hpp>

#include <pinocchio/algorithm/aba.hpp>

#include <pinocchio/algorithm/rnea.hpp>
#include <pinocchio/serialization.hpp>

#include <filesystem>

using Symbol = casadi::SX;
using Vector = Eigen::Matrix<Symbol, Eigen::Dynamic, 1>;

static Vector entries(const Symbol &x)
{
    Vector found(x.rows());
    for (int k = 0; k < x.rows(); k++) {
        found[k] = x(k);
    }
    return found;
}

static Symbol column(const Vector &x)
{
    Symbol found(x.size(), 1);
    for (int k = 0; k < x.size(); k++) {
        found(k) = x[k];
    }
    return found;
}

int main(int count, char **arguments)
{
    if (count != 3) {
        return 2;
    }
    pinocchio::Model plain;
    plain.loadFromText(arguments[1]);
    std::filesystem::current_path(arguments[2]);
    const pinocchio::ModelTpl<Symbol> model = plain.cast<Symbol>();
    pinocchio::DataTpl<Symbol> data(model);
    const Symbol q = Symbol::sym("q", model.nq), v = Symbol::sym("v", model.nv), u = Symbol::sym("u", model.nv);
    const Symbol tau = column(pinocchio::rnea(model, data, entries(q), entries(v), entries(u)));
    const Symbol qdd = column(pinocchio::aba(model, data, entries(q), entries(v), entries(u)));
    casadi::Function("pin_inverse", {q, v, u}, {cse(tau)}).generate("pin_inverse.c");
    casadi::Function("pin_forward", {q, v, u}, {cse(qdd)}).generate("pin_forward.c");
    return 0;
}
